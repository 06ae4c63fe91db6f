/** Changed texts of sources, by path: PLANTED names the JSON file that holds them. */
import { readFileSync, writeFileSync } from "node:fs"

export type Sources = Readonly<Record<string, string>>

export const read = (): Sources => JSON.parse(readFileSync(process.env["PLANTED"]!, "utf8")) as Sources

export const write = (sources: Sources): void => writeFileSync(process.env["PLANTED"]!, JSON.stringify(sources))
