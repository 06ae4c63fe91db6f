/** `npm start`: opens the door, then loads the gateway behind it, and serves until it is told to stop. */
import * as EarlyDoor from "./layers/node/EarlyDoor.ts"

const door = await EarlyDoor.listen(process.env)
const { launch } = await import("./Launch.ts")
launch(door)
