/** The results as text and as JSON. */
import type { Case } from "./Case.ts"
import type { Outcome } from "./Suite.ts"

const INDENT = "       "

/** A case of `--list`. */
export const entry = ({ claim, clause, level, name }: Case): string => `${level}  ${name}: ${claim} (${clause})`

/** One line for a passed case. For a failed one also the requirement and its source. */
export const line = ({ claim, clause, failure, name, took_ms }: Outcome): string =>
  failure === undefined
    ? `pass   ${name} (${took_ms} ms)`
    : [`FAIL   ${name}: ${failure}`, `${INDENT}must: ${claim}`, `${INDENT}contract: ${clause}`].join("\n")

const count = (outcomes: ReadonlyArray<Outcome>) => {
  const failed = outcomes.filter(({ failure }) => failure !== undefined).length
  return { passed: outcomes.length - failed, failed }
}

/** The last line. */
export const summary = (outcomes: ReadonlyArray<Outcome>): string => {
  const levels = (["core", "full"] as const).flatMap((level) => {
    const { failed, passed } = count(outcomes.filter((outcome) => outcome.level === level))
    return passed + failed === 0 ? [] : [`${level} ${passed} of ${passed + failed}`]
  })
  return `${count(outcomes).failed === 0 ? "conforms" : "does not conform"}: ${levels.join(", ")} passed`
}

/** `{ passed, failed, cases: [{ name, level, clause, claim, took_ms, failure? }] }`. */
export const json = (outcomes: ReadonlyArray<Outcome>): string =>
  JSON.stringify({ ...count(outcomes), cases: outcomes }, undefined, 2)
