/** `npm start`: listens first, then loads the gateway and serves until it receives a stop signal. */
import * as EarlyListen from "./layers/node/EarlyListen.ts"

const listener = await EarlyListen.listen(process.env)
const { launch } = await import("./Launch.ts")
launch(listener)
