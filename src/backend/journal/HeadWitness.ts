/**
 * The end of the journal, in a file beside it. SQLite ends a damaged write-ahead log at the first bad page without a word,
 * and so would drop commands that were acknowledged. A journal that ends before its witness is refused.
 *
 * The journal writes it after each commit, without a sync: the witness never names an entry that is not durable, and after a
 * power loss it may name an older one. Two slots are written in turn, so a torn or damaged slot leaves the other one.
 */
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs"
import { crc32 } from "node:zlib"
import * as PrivateFiles from "../../node/PrivateFiles.ts"

/** What a journal must reach. */
export interface Witnessed {
  /** Position of an entry that was committed as the last one of a turn. */
  readonly position: number
  /** Checksum of the entries up to it. */
  readonly checksum: number
  /** Seq that a subscriber of the same fork has seen; 0 where none was beyond the head. */
  readonly seen_seq: number
}

/** Bytes of a record: position, seen_seq (float64), checksum, CRC-32 of the fork's id, CRC-32 of all that (uint32). */
const RECORD_BYTES = 28
/** Distance between the slots: a damaged sector damages one. */
const SLOT_BYTES = 4096
const SLOTS = 2

const pathOf = (journal: string): string => `${journal}.head`

const decode = (bytes: Buffer, fork: string): Witnessed | undefined => {
  if (bytes.length < RECORD_BYTES) return undefined
  if (crc32(bytes.subarray(0, RECORD_BYTES - 4)) !== bytes.readUInt32LE(RECORD_BYTES - 4)) return undefined
  // of another fork: a restore has begun a new one since
  if (bytes.readUInt32LE(20) !== crc32(fork)) return undefined
  return { position: bytes.readDoubleLE(0), seen_seq: bytes.readDoubleLE(8), checksum: bytes.readUInt32LE(16) }
}

/** The witness of a journal's fork; undefined where there is none. */
export const read = (journal: string, fork: string): Witnessed | undefined => {
  const path = pathOf(journal)
  if (!existsSync(path)) return undefined
  const bytes = readFileSync(path)
  return Array.from({ length: SLOTS }, (_, slot) => decode(bytes.subarray(slot * SLOT_BYTES), fork))
    .filter((witnessed) => witnessed !== undefined)
    .sort((a, b) => a.position - b.position || a.seen_seq - b.seen_seq)
    .at(-1)
}

/** Whether a journal has a witness, of whatever fork. */
export const exists = (journal: string): boolean => {
  const path = pathOf(journal)
  return existsSync(path) && statSync(path).size >= RECORD_BYTES
}

/** Removes the witness: the file is a copy of a journal in a database, and may end anywhere. */
export const remove = (journal: string): void => rmSync(pathOf(journal), { force: true })

/** Writes the witness of a journal. */
export class HeadWitness {
  private readonly file: number
  private readonly record = Buffer.alloc(RECORD_BYTES)
  private slot = 0
  private seen_seq: number
  private fork = 0

  constructor(journal: string, fork: string) {
    const path = pathOf(journal)
    this.seen_seq = read(journal, fork)?.seen_seq ?? 0
    PrivateFiles.file(path)
    this.file = openSync(path, "r+")
    this.begin(fork)
  }

  /** Later records are of this fork. */
  begin(fork: string): void {
    const next = crc32(fork)
    if (this.fork !== 0 && next !== this.fork) this.seen_seq = 0
    this.fork = next
  }

  /** A turn that ends at this position is durable. */
  write(position: number, checksum: number): void {
    const { file, record } = this
    record.writeDoubleLE(position, 0)
    record.writeDoubleLE(this.seen_seq, 8)
    record.writeUInt32LE(checksum, 16)
    record.writeUInt32LE(this.fork, 20)
    record.writeUInt32LE(crc32(record.subarray(0, RECORD_BYTES - 4)), RECORD_BYTES - 4)
    writeSync(file, record, 0, RECORD_BYTES, this.slot * SLOT_BYTES)
    this.slot = (this.slot + 1) % SLOTS
  }

  /** A subscriber has seen an event that this journal does not hold. */
  demand(seen_seq: number, position: number, checksum: number): void {
    this.seen_seq = Math.max(this.seen_seq, seen_seq)
    for (let slot = 0; slot < SLOTS; slot++) this.write(position, checksum)
  }

  close(): void {
    closeSync(this.file)
  }
}
