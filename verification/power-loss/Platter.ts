/**
 * A disk between writes and syncs. What was synced is on it; of the rest anything may be: a write whole, in part by
 * sectors, or not at all, in any order; a name that was made, moved or removed, as long as its directory was not synced.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { Random } from "../harness/Random.ts"
import type { Operation } from "./Trace.ts"

/** What a disk writes whole, in bytes. */
const SECTOR = 512

type Change = { readonly at: number; readonly bytes: Buffer } | { readonly size: number }

const applied = (content: Buffer, change: Change): Buffer => {
  if ("size" in change) {
    if (change.size <= content.length) return content.subarray(0, change.size)
    return Buffer.concat([content, Buffer.alloc(change.size - content.length)])
  }
  const { at, bytes } = change
  const end = at + bytes.length
  const wide = end <= content.length ? content : Buffer.concat([content, Buffer.alloc(end - content.length)])
  wide.set(bytes, at)
  return wide
}

/** What of a change that was not synced reaches the disk. */
type Fate = (change: Change) => ReadonlyArray<Change>

class File {
  synced: Buffer = Buffer.alloc(0)
  changes: Array<Change> = []

  sync(): void {
    for (const change of this.changes) this.synced = applied(this.synced, change)
    this.changes = []
  }

  image(fate: Fate): Buffer {
    let content: Buffer = Buffer.from(this.synced)
    for (const change of this.changes) for (const part of fate(change)) content = applied(content, part)
    return content
  }
}

/** Names that change together: a rename takes one away and gives another. */
type Names = ReadonlyArray<readonly [name: string, node: Node | undefined]>

class Directory {
  readonly synced = new Map<string, Node>()
  changes: Array<Names> = []

  get(name: string): Node | undefined {
    for (const names of this.changes.toReversed())
      for (const [changed, node] of names) if (changed === name) return node
    return this.synced.get(name)
  }

  /** All that it holds, synced or not. */
  get nodes(): ReadonlyArray<Node> {
    return [...this.image(() => true).values()]
  }

  sync(): void {
    for (const names of this.changes) put(this.synced, names)
    this.changes = []
  }

  image(isKept: () => boolean): ReadonlyMap<string, Node> {
    const image = new Map(this.synced)
    for (const names of this.changes) if (isKept()) put(image, names)
    return image
  }
}

type Node = File | Directory

const put = (map: Map<string, Node>, names: Names): void => {
  for (const [name, node] of names) {
    if (node === undefined) map.delete(name)
    else map.set(name, node)
  }
}

/** Sectors of a write that reach the disk, each by a throw. */
const torn = (change: Change, next: Random): ReadonlyArray<Change> => {
  if ("size" in change) return [change]
  const { at, bytes } = change
  const parts: Array<Change> = []
  for (let from = 0; from < bytes.length;) {
    const to = Math.min(bytes.length, from + SECTOR - ((at + from) % SECTOR))
    if (next() < 0.5) parts.push({ at: at + from, bytes: bytes.subarray(from, to) })
    from = to
  }
  return parts
}

export class Platter {
  private readonly root = new Directory()

  /** Puts an operation that is no saying behind those before. */
  apply(operation: Exclude<Operation, { readonly kind: "say" }>): void {
    const { path } = operation
    switch (operation.kind) {
      case "create":
        return this.name([[path, operation.directory ? new Directory() : new File()]])
      case "unlink":
        return this.name([[path, undefined]])
      case "rename":
        return this.name([
          [path, undefined],
          [operation.to, this.find(path)]
        ])
      case "sync":
        return this.find(path).sync()
      case "write":
      case "truncate":
        this.file(path).changes.push(operation)
    }
  }

  private name(names: ReadonlyArray<readonly [path: string, node: Node | undefined]>): void {
    const parent = dirname(names[0]![0])
    if (names.some(([path]) => dirname(path) !== parent)) throw new Error(`a name moved out of ${parent}`)
    const directory = this.find(parent === "." ? "" : parent)
    if (!(directory instanceof Directory)) throw new Error(`${parent} is no directory`)
    directory.changes.push(names.map(([path, node]) => [basename(path), node]))
  }

  private find(path: string): Node {
    let node: Node | undefined = this.root
    for (const name of path === "" ? [] : path.split("/")) node = node instanceof Directory ? node.get(name) : undefined
    if (node === undefined) throw new Error(`there is no ${path}`)
    return node
  }

  private file(path: string): File {
    const node = this.find(path)
    if (!(node instanceof File)) throw new Error(`${path} is no file`)
    return node
  }

  /** Whether anything was written that was not synced. */
  get isPending(): boolean {
    const waits = (node: Node): boolean =>
      node.changes.length > 0 || (node instanceof Directory && node.nodes.some(waits))
    return waits(this.root)
  }

  /** What is found after the power failed now, one of many that may be. */
  image(next: Random): ReadonlyMap<string, Buffer | undefined> {
    const kind = next()
    const share = kind < 0.2 ? 0 : kind < 0.35 ? 1 : next()
    const isKept = () => next() < share
    return this.tree(isKept, (change) => {
      if (share === 0) return []
      if (share === 1) return [change]
      return next() < 0.3 ? torn(change, next) : isKept() ? [change] : []
    })
  }

  /** What a program finds that comes after without a power failure. */
  whole(): ReadonlyMap<string, Buffer | undefined> {
    return this.tree(
      () => true,
      (change) => [change]
    )
  }

  /** Contents by path; undefined: a directory. */
  private tree(isKept: () => boolean, fate: Fate): ReadonlyMap<string, Buffer | undefined> {
    const contents = new Map<string, Buffer | undefined>()
    const walk = (directory: Directory, path: string) => {
      for (const [name, node] of directory.image(isKept)) {
        const inside = join(path, name)
        if (node instanceof File) contents.set(inside, node.image(fate))
        else {
          contents.set(inside, undefined)
          walk(node, inside)
        }
      }
    }
    walk(this.root, "")
    return contents
  }
}

/** Writes an image below an empty directory. */
export const lay = (directory: string, image: ReadonlyMap<string, Buffer | undefined>): void => {
  for (const [path, content] of image) {
    if (content === undefined) mkdirSync(join(directory, path))
    else writeFileSync(join(directory, path), content)
  }
}
