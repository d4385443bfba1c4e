import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type ColorBy, chooseFrameFill, frameLabel } from "../../core/profiles/colors";
import {
  deltaFill,
  deltaGlyph,
  type FlameNode,
  findFrame,
  findMaximumDelta,
  findNeighbor,
  nestUnderAncestors,
  type PathStep,
  significantDelta,
} from "../../core/profiles/flame";
import { countBoxes } from "../../core/profiles/layout";
import { drawFlameCanvas } from "./canvas";
import { drawFlame } from "./d3";
import { CELL_PX, type Drawing, MIN_FRAME_PX, type Point } from "./drawing";
import { rememberFlamePlace, removeEarlyFlame } from "./earlyFlame";
import classes from "./FlameGraph.module.css";
import { useHeightBelow } from "./useHeightBelow";

interface Props {
  tree: FlameNode;
  /** Ancestors of `tree`, outermost first; empty at the root. */
  path: readonly PathStep[];
  inverted: boolean;
  /** Ids of frames that a search matches. */
  matches?: ReadonlySet<FlameNode["id"]> | undefined;
  /** Color frames by change instead of by kind. */
  differential?: boolean;
  colorBy?: ColorBy;
  label: string;
  onZoom(id: FlameNode["id"]): void;
  onFocus(node: FlameNode | null): void;
  title(node: FlameNode): string;
  /** Open the context menu of a frame at window coordinates. */
  onMenu?: ((node: FlameNode, at: Point) => void) | undefined;
  /** Limit the height to the window, so that the root is visible without scrolling the page. */
  fitsView?: boolean;
  /** Handle a key on the outlined frame. Returns whether the key was handled. */
  onFrameKey?: ((node: FlameNode, key: string) => boolean) | undefined;
}

/** Above this, use a canvas: d3-flame-graph redraws 300 frames in 30 ms, a canvas 5,000 (docs/decisions/0043). */
export const MAX_D3_FRAMES = 300;

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "previous", ArrowRight: "next" } as const;

/** Render a flame graph or icicle graph with mouse and keyboard control. */
export function FlameGraph(props: Props) {
  const { tree, path, inverted, matches, differential = false, colorBy = "kind", fitsView = false } = props;
  const { onZoom, onFocus, title, onMenu } = props;
  const scheme = useComputedColorScheme("dark");
  const { ref, width: observed } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLDivElement>(null);
  const outer = useRef<HTMLDivElement>(null);
  // Measured before the first paint, because observers report after it.
  const [first, setFirst] = useState(0);
  useLayoutEffect(() => setFirst(outer.current?.clientWidth ?? 0), []);
  const width = Math.floor(observed) || first;
  const maxHeight = useHeightBelow(outer, fitsView);
  const [cursor, setCursor] = useState<FlameNode["id"] | null>(null);
  const visibleTree = useMemo(() => nestUnderAncestors(path, tree), [path, tree]);
  const calls = useRef({ onZoom, onFocus, title, onMenu });
  calls.current = { onZoom, onFocus, title, onMenu };
  const drawing = useRef<Drawing | null>(null);
  const frames = useMemo(() => countBoxes(visibleTree, width, MIN_FRAME_PX), [visibleTree, width]);

  useEffect(() => {
    const element = canvas.current;
    if (!element || width < 50) return;
    const extent = differential ? findMaximumDelta(visibleTree) : 0;
    // d3-flame-graph sorts siblings by name and leaves no gaps between them.
    const isTimed = visibleTree.start !== undefined;
    const draw = isTimed || frames > MAX_D3_FRAMES ? drawFlameCanvas : drawFlame;
    const flame = draw(element, visibleTree, {
      // clientWidth excludes the gutter of the scrollbar.
      width: Math.floor(element.clientWidth || width),
      inverted,
      fill: (node) => {
        if (matches && matches.size > 0) {
          if (matches.has(node.id)) return scheme === "dark" ? "#c77dff" : "#b14cf0";
          return scheme === "dark" ? "#7a8591" : "#e3e6ea";
        }
        if (differential) return deltaFill(significantDelta(node), extent, scheme);
        return chooseFrameFill(node, colorBy, scheme);
      },
      label: (node) => (differential ? deltaGlyph(significantDelta(node)) : "") + frameLabel(node),
      title: (node) => calls.current.title(node),
      onPick: (node) => {
        if (node.kind === "pruned" && node.start === undefined) return;
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
    removeEarlyFlame();
    const frame = outer.current;
    // Scroll to the root: at the bottom of a flame graph, at the top of an icicle graph.
    if (frame) frame.scrollTop = inverted ? 0 : frame.scrollHeight;
    return () => {
      drawing.current = null;
      flame.destroy();
    };
  }, [visibleTree, inverted, width, matches, differential, colorBy, scheme, frames]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new height scrolls the root out of view
  useEffect(() => {
    if (outer.current && !inverted) outer.current.scrollTop = outer.current.scrollHeight;
    drawing.current?.repaint?.();
    if (outer.current && fitsView && maxHeight !== undefined) rememberFlamePlace(outer.current);
  }, [maxHeight, inverted]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new rendering has no outline yet
  useEffect(() => {
    drawing.current?.mark(cursor);
  }, [cursor, visibleTree, width, matches, colorBy]);

  /** Outline a frame and scroll it into view. */
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
        : findNeighbor(visibleTree, cursor, direction);
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
      {/* biome-ignore lint/a11y/useSemanticElements: no HTML element fits a chart with keyboard control */}
      <div
        ref={canvas}
        className={classes.canvas}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the chart handles arrow keys and Enter
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
