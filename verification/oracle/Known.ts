/**
 * Where the engine does not follow the amended contract yet. Each entry names the amendment, and keeps its cases out of the
 * sessions or its figures out of the comparison. An engine that follows the whole contract has none.
 */
import type { Request } from "./Requests.ts"

export interface Known {
  readonly amendment: number
  readonly why: string
  /** whether a request would run into it: it is not sent */
  readonly avoids?: (request: Request) => boolean
  /** a fact without the figures that differ */
  readonly blurs?: (fact: string) => string
}

export const KNOWN: ReadonlyArray<Known> = []
