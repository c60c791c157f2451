/* main.js -- one state, one trace of it, and the views that show them.
 *
 * A view is made by a function of the context and returns {element, update()}.  The context:
 *
 *     engine            see engine.js
 *     state             what is shown now; see state.js
 *     trace             the trace of it, without numerical values; null while the library loads
 *     change(changes)   a new state {...state, ...changes}: computed, shown, kept in the link; one
 *                       undo step ({undo: false}: none, while a slider moves).  What the library refuses
 *                       is not taken: the message is returned ('' if all is well)
 *     numerical()       the trace with numerical values, computed when it is first asked for
 *     say(text)         is read out by a screen reader, throttled */
