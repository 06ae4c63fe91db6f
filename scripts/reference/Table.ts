/** Markdown tables. */

/** A row; bars within its cells are kept from ending them. */
export const row = (...cells: ReadonlyArray<string>): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`

export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<string>): string =>
  [row(...head), `|${"---|".repeat(head.length)}`, ...rows].join("\n")
