import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type ColorBy, fillOf, frameLabel } from "../../core/profiles/colors";
import {
  deltaExtent,
  deltaFill,
  deltaGlyph,
  type FlameNode,
  findFrame,
  markedDelta,
  neighbour,
  type PathStep,
  underAncestors,
} from "../../core/profiles/flame";
import { countBoxes } from "../../core/profiles/layout";
import { drawFlameCanvas } from "./canvas";
import { drawFlame } from "./d3";
import { CELL_PX, type Drawing, MIN_FRAME_PX, type Point } from "./drawing";
import classes from "./FlameGraph.module.css";
import { useRoomBelow } from "./useRoomBelow";

interface Props {
  tree: FlameNode;
  /** Ancestors of `tree`, outermost first; empty at the root. */
  path: readonly PathStep[];
  inverted: boolean;
  /** Ids of frames that a search matches. */
  matches?: ReadonlySet<FlameNode["id"]> | undefined;
  /** Colors by change instead of by kind. */
  differential?: boolean;
  colorBy?: ColorBy;
  label: string;
  onZoom(id: FlameNode["id"]): void;
  onFocus(node: FlameNode | null): void;
  title(node: FlameNode): string;
  /** Opens the menu of a frame at a point of the window. */
  onMenu?: ((node: FlameNode, at: Point) => void) | undefined;
  /** Ends where the first view of the page ends, so that the root is in sight without scrolling. */
  fitsView?: boolean;
  /** A key that was pressed on a frame; true where it was used. */
  onFrameKey?: ((node: FlameNode, key: string) => boolean) | undefined;
}

/** Up to this many frames, d3-flame-graph redraws within 30 ms; a canvas also does with 5,000 (docs/decisions/0043). */
export const MAX_D3_FRAMES = 300;

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "previous", ArrowRight: "next" } as const;

/** A flame graph or icicle that is driven by mouse and keyboard alike. */
export function FlameGraph(props: Props) {
  const { tree, path, inverted, matches, differential = false, colorBy = "kind", fitsView = false } = props;
  const { onZoom, onFocus, title, onMenu } = props;
  const scheme = useComputedColorScheme("dark");
  const { ref, width: observed } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLDivElement>(null);
  const outer = useRef<HTMLDivElement>(null);
  // Observers report after the first paint, which would be without the drawing.
  const [first, setFirst] = useState(0);
  useLayoutEffect(() => setFirst(outer.current?.clientWidth ?? 0), []);
  const width = Math.floor(observed) || first;
  const maxHeight = useRoomBelow(outer, fitsView);
  const [cursor, setCursor] = useState<FlameNode["id"] | null>(null);
  const visibleTree = useMemo(() => underAncestors(path, tree), [path, tree]);
  const calls = useRef({ onZoom, onFocus, title, onMenu });
  calls.current = { onZoom, onFocus, title, onMenu };
  const drawing = useRef<Drawing | null>(null);
  const frames = useMemo(() => countBoxes(visibleTree, width, MIN_FRAME_PX), [visibleTree, width]);

  useEffect(() => {
    const element = canvas.current;
    if (!element || width < 50) return;
    const extent = differential ? deltaExtent(visibleTree) : 0;
    const draw = frames > MAX_D3_FRAMES ? drawFlameCanvas : drawFlame;
    const flame = draw(element, visibleTree, {
      // The gutter of the scrollbar belongs to the frame, not to what is drawn in it.
      width: Math.floor(element.clientWidth || width),
      inverted,
      fill: (node) => {
        if (matches && matches.size > 0) {
          if (matches.has(node.id)) return scheme === "dark" ? "#c77dff" : "#b14cf0";
          return scheme === "dark" ? "#7a8591" : "#e3e6ea";
        }
        if (differential) return deltaFill(markedDelta(node), extent, scheme);
        return fillOf(node, colorBy, scheme);
      },
      label: (node) => (differential ? deltaGlyph(markedDelta(node)) : "") + frameLabel(node),
      title: (node) => calls.current.title(node),
      onPick: (node) => {
        if (node.kind === "pruned") return;
        setCursor(node.id);
        calls.current.onZoom(node.id);
      },
      onHover: (node) => calls.current.onFocus(node),
      onMenu: (node, at) => {
        if (!calls.current.onMenu || node.kind === "pruned") return false;
        setCursor(node.id);
        calls.current.onMenu(node, at);
        return true;
      },
    });
    drawing.current = flame;
    const frame = outer.current;
    // The root is where reading begins: at the bottom of a flame graph, at the top of an icicle.
    if (frame) frame.scrollTop = inverted ? 0 : frame.scrollHeight;
    return () => {
      drawing.current = null;
      flame.destroy();
    };
  }, [visibleTree, inverted, width, matches, differential, colorBy, scheme, frames]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another height moves the root out of sight
  useEffect(() => {
    if (outer.current && !inverted) outer.current.scrollTop = outer.current.scrollHeight;
    drawing.current?.repaint?.();
  }, [maxHeight, inverted]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new drawing has no outline yet
  useEffect(() => {
    drawing.current?.mark(cursor);
  }, [cursor, visibleTree, width, matches, colorBy]);

  /** Keeps the outlined frame in sight while it is moved by keys. */
  const follow = (id: FlameNode["id"]) => {
    const at = drawing.current?.mark(id);
    const frame = outer.current;
    if (!at || !frame) return;
    if (at.y < frame.scrollTop) frame.scrollTop = at.y - CELL_PX;
    else if (at.y + CELL_PX > frame.scrollTop + frame.clientHeight)
      frame.scrollTop = at.y + 2 * CELL_PX - frame.clientHeight;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && cursor !== null) {
      event.preventDefault();
      onZoom(cursor);
      return;
    }
    const current = cursor === null ? undefined : findFrame(visibleTree, cursor);
    if (current && (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) && onMenu) {
      event.preventDefault();
      const at = drawing.current?.mark(current.id);
      const bounds = canvas.current?.getBoundingClientRect();
      onMenu(current, {
        x: (bounds?.left ?? 0) + (at?.x ?? 0),
        y: (bounds?.top ?? 0) + (at?.y ?? 0) + CELL_PX,
      });
      return;
    }
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (current && isPlain && props.onFrameKey?.(current, event.key)) {
      event.preventDefault();
      return;
    }
    const arrow = ARROWS[event.key as keyof typeof ARROWS];
    if (!arrow) return;
    event.preventDefault();
    const towardsLeaves = inverted ? "down" : "up";
    const direction =
      arrow === "up" || arrow === "down" ? (arrow === towardsLeaves ? "child" : "parent") : arrow;
    const next =
      cursor === null || !findFrame(visibleTree, cursor)
        ? visibleTree
        : neighbour(visibleTree, cursor, direction);
    if (!next) return;
    setCursor(next.id);
    follow(next.id);
    onFocus(next);
  };

  return (
    <div
      ref={useMergedRef(ref, outer)}
      className={classes.frame}
      style={maxHeight === undefined ? undefined : { maxHeight }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing with its own keys has no element of its own */}
      <div
        ref={canvas}
        className={classes.canvas}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the drawing is driven by arrow keys and Enter
        tabIndex={0}
        role="group"
        aria-label={props.label}
        onKeyDown={onKeyDown}
        data-testid="flame"
        data-keys="own"
        data-frames={frames}
      />
    </div>
  );
}
