/** Redraws at most once per animation frame, however often values change; a hidden page is not redrawn. */

const due = new Set<() => void>()
let scheduled = false

/** Draws now what the next frame would draw. A drawing that throws is reported; the others are drawn. */
export const flush = (): void => {
  scheduled = false
  const drawings = [...due]
  due.clear()
  for (const draw of drawings) {
    try {
      draw()
    } catch (fault) {
      reportError(fault)
    }
  }
}

/** Draws in the next frame; repeated requests draw once. */
export const onFrame = (draw: () => void): void => {
  due.add(draw)
  if (scheduled) return
  scheduled = true
  requestAnimationFrame(flush)
}

/** A value that the screen shows. */
export class Live<A> {
  private current: A
  private readonly drawings = new Set<() => void>()

  constructor(first: A) {
    this.current = first
  }
  get value(): A {
    return this.current
  }
  set(value: A): void {
    this.current = value
    this.touch()
  }
  /** Reports a change inside the value. */
  touch(): void {
    for (const draw of this.drawings) onFrame(draw)
  }
  /** @internal used by {@link drawn} */
  watch(draw: () => void): void {
    this.drawings.add(draw)
  }
}

/** Draws in the next frame, and again after any of the values changes. */
export const drawn = (values: ReadonlyArray<Live<unknown>>, draw: () => void): void => {
  for (const value of values) value.watch(draw)
  onFrame(draw)
}
