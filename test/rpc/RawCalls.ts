/** Calls as bytes over both transports of `/rpc`, in forms that no client library sends. */
import { frame, RawSocket } from "../ws/RawSocket.ts"

/** One message of the server, as JSON. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Answer = any

/** The line of a call. */
export const callOf = (id: number | string, tag: string, payload: unknown = null, headers: object = []): string =>
  `${JSON.stringify({ _tag: "Request", id: String(id), tag, payload, headers })}\n`

export const answersOf = (text: string): ReadonlyArray<Answer> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** The common error of a call; undefined where it succeeded or ended with a defect. */
export const refusalOf = ({ exit }: Answer): { readonly code: string; readonly details: Answer } | undefined =>
  exit?._tag === "Failure" && exit.cause[0]?._tag === "Fail" ? exit.cause[0].error : undefined

/** Sends one message by POST. */
export const post = async (
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {}
): Promise<{ readonly status: number; readonly answers: ReadonlyArray<Answer> }> => {
  const response = await fetch(`${url}/rpc`, { method: "POST", body, headers, signal: AbortSignal.timeout(20_000) })
  return { status: response.status, answers: answersOf(await response.text()) }
}

/** A WebSocket of `/rpc`. */
export class RawCalls {
  readonly raw: RawSocket
  private constructor(raw: RawSocket) {
    this.raw = raw
  }
  static async open(url: string, headers?: ReadonlyArray<string>): Promise<RawCalls> {
    return new RawCalls(await RawSocket.open(url, "/rpc", headers))
  }
  get answers(): ReadonlyArray<Answer> {
    return answersOf(this.raw.texts.join(""))
  }
  send(...texts: ReadonlyArray<string>): void {
    this.raw.write(...texts.map((text) => frame(text)))
  }
  /** Waits for this many ends of calls. */
  async ends(count: number): Promise<ReadonlyArray<Answer>> {
    const ends = () => this.answers.filter(({ _tag }) => _tag === "Exit")
    await this.raw.until(`${count} answers`, () => ends().length >= count)
    return ends()
  }
}
