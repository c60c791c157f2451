/* say.js -- a text of the page by its key: the one way from texts.js to the screen. */
import { texts } from './texts.js'

/* say('tour.dS.because', { dP: 5, delta: 4.9 }) is "5 lies above 4.9". */
export const say = (key, values) => texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name])
