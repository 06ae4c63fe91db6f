/** The text form of users' events: one line each, so that a batch of a user is one row. */
import type { PrivateTopic } from "../../domain/Topic.ts"
import type { UserEvent } from "../../services/History.ts"

/** A user's event as one line of text: JSON text contains no line break, and the fields before it contain no space. */
export const lineOf = ({ topic, prev_seq, sub_account_address, mts, record }: Omit<UserEvent, "seq">): string =>
  `${topic} ${prev_seq} ${sub_account_address} ${mts} ${record}`
const LINE = /^(\S+) (\S+) (\S+) (\S+) (.*)$/su
export const eventOf = (line: string, seq: number): UserEvent => {
  const [, topic, prev_seq, sub_account_address, mts, record] = LINE.exec(line)!
  return {
    seq,
    topic: topic as PrivateTopic,
    prev_seq: Number(prev_seq),
    sub_account_address: sub_account_address!,
    mts: Number(mts),
    record: record!
  }
}
