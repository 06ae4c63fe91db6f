/** `npm start`: opens the door, then loads the gateway behind it, and serves until it is told to stop. */
import * as EarlyListen from "./layers/node/EarlyListen.ts"

const door = await EarlyListen.listen(process.env)
const { launch } = await import("./Launch.ts")
launch(door)
