/**
 * The decimals of messages of the gRPC boundary. The gateway passes most of them on as text, so a text that is no decimal would
 * reach its users and the read models. Source: docs/contract/conventions.md#decimals.
 */
import { WireError } from "./Enums.ts"

/** At most 40 integer digits: a total may have more than the 20 of a value that the API accepts. */
const SIGNED = /^(?!-0(?:\.0+)?$)-?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,18})?$/u
const UNSIGNED = /^(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,18})?$/u
/** Characters of a wrong text that an error quotes. */
const QUOTED_MAX = 40

type Texts<M> = { readonly [K in keyof M]-?: M[K] extends string | undefined ? K : never }[keyof M] & string

const checkOf =
  (isValid: (text: string) => boolean) =>
  <M>(...names: ReadonlyArray<Texts<M>>) =>
  (message: M): void => {
    for (const name of names) {
      const text = message[name] as string | undefined
      if (text === undefined || isValid(text)) continue
      throw new WireError(`${name}: ${JSON.stringify(text.slice(0, QUOTED_MAX))} is not a decimal`)
    }
  }

/** Checks that the named fields of a message are decimals, or absent where they are optional. */
export const decimals = checkOf((text) => SIGNED.test(text))
/** The same of decimals without a sign. */
export const unsigned = checkOf((text) => UNSIGNED.test(text))
/** The same of decimals that may be empty. */
export const decimalsOrEmpty = checkOf((text) => text === "" || SIGNED.test(text))
