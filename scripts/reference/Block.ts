/** The part of a page that is generated, between two marks; the rest is written by hand. */

const END = "<!-- end of what is generated -->"

/** The page with `text` in its generated part, which says that it comes from `source`, and by which command. */
export const filled = (page: string, source: string, text: string, command = "npm run generate"): string => {
  const mark = `<!-- generated from ${source}: ${command} -->`
  const begin = page.indexOf(mark)
  const end = page.indexOf(END, begin)
  if (begin === -1 || end === -1) throw new Error(`the page has no place for what is generated from ${source}`)
  return `${page.slice(0, begin)}${mark}\n\n${text}\n\n${page.slice(end)}`
}
