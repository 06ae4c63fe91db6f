/** Back-off of the projector and its reads: 50 ms, doubled, up to 2 s. */
import { Schedule } from "effect"

export const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")])
