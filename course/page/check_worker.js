/* check_worker.js -- judge.js in a thread of its own; check.js asks. */
import { judge } from './judge.js'

onmessage = ({ data: { module, files, choice } }) => postMessage(judge(module, files, choice))
