/** Action of a key on a time axis. Keys are identified by character (`event.key`), not by position. */
export type TimeAction =
  | { act: "zoom"; factor: number }
  | { act: "pan"; share: number }
  | { act: "all" | "clear" | "enter" | "previous" | "next" | "markBrush" | "markBaseline" }
  | { act: "cursor"; share: number };

interface KeyLike {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Return the action of a key, or undefined for other keys and with Ctrl, Meta or Alt. Shift is four times faster. */
export function findTimeAction(event: KeyLike): TimeAction | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const fast = event.shiftKey ? 4 : 1;
  switch (event.key) {
    case "w":
    case "W":
    case "+":
    case "=":
      return { act: "zoom", factor: 0.7 ** fast };
    case "s":
    case "S":
    case "-":
    case "_":
      return { act: "zoom", factor: (1 / 0.7) ** fast };
    case "a":
    case "A":
    case "ArrowLeft":
      return { act: "pan", share: -0.1 * fast };
    case "d":
    case "D":
    case "ArrowRight":
      return { act: "pan", share: 0.1 * fast };
    case ",":
    case "<":
      return { act: "cursor", share: -0.005 * fast };
    case ".":
    case ">":
      return { act: "cursor", share: 0.005 * fast };
    case "0":
      return { act: "all" };
    case "Escape":
      return { act: "clear" };
    case "Enter":
      return { act: "enter" };
    case "[":
      return { act: "previous" };
    case "]":
      return { act: "next" };
    case "b":
      return { act: "markBrush" };
    case "B":
      return { act: "markBaseline" };
    default:
      return undefined;
  }
}
