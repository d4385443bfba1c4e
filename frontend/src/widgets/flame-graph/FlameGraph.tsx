import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import {
  deltaExtent,
  deltaFill,
  deltaGlyph,
  type FlameNode,
  findFrame,
  frameFill,
  markedDelta,
  neighbour,
  type PathStep,
  underAncestors,
} from "../../core/profiles/flame";
import { drawFlame, frameElement } from "./d3";
import classes from "./FlameGraph.module.css";

interface Props {
  tree: FlameNode;
  /** Ancestors of `tree`, outermost first; empty at the root. */
  path: readonly PathStep[];
  inverted: boolean;
  /** Ids of frames that a search matches. */
  matches?: ReadonlySet<FlameNode["id"]> | undefined;
  /** Colors by change instead of by kind. */
  differential?: boolean;
  label: string;
  onZoom(id: FlameNode["id"]): void;
  onFocus(node: FlameNode | null): void;
  title(node: FlameNode): string;
}

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "previous", ArrowRight: "next" } as const;

/** A flame graph or icicle that is driven by mouse and keyboard alike. */
export function FlameGraph(props: Props) {
  const { tree, path, inverted, matches, differential = false, onZoom, onFocus, title } = props;
  const scheme = useComputedColorScheme("dark");
  const { ref, width } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLDivElement>(null);
  const outer = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<FlameNode["id"] | null>(null);
  const visibleTree = useMemo(() => underAncestors(path, tree), [path, tree]);
  const calls = useRef({ onZoom, onFocus, title });
  calls.current = { onZoom, onFocus, title };

  useEffect(() => {
    const element = canvas.current;
    if (!element || width < 50) return;
    const extent = differential ? deltaExtent(visibleTree) : 0;
    const flame = drawFlame(element, visibleTree, {
      width: Math.floor(width),
      inverted,
      fill: (node) => {
        if (matches && matches.size > 0) {
          if (matches.has(node.id)) return scheme === "dark" ? "#c77dff" : "#b14cf0";
          return scheme === "dark" ? "#7a8591" : "#e3e6ea";
        }
        if (differential) return deltaFill(markedDelta(node), extent, scheme);
        return frameFill(node.above ? "pruned" : node.kind, node.name, scheme);
      },
      label: (node) => (differential ? deltaGlyph(markedDelta(node)) : "") + node.name,
      title: (node) => calls.current.title(node),
      onPick: (node) => {
        if (node.kind === "pruned") return;
        setCursor(node.id);
        calls.current.onZoom(node.id);
      },
      onHover: (node) => calls.current.onFocus(node),
    });
    const frame = outer.current;
    // The root is where reading begins: at the bottom of a flame graph, at the top of an icicle.
    if (frame) frame.scrollTop = inverted ? 0 : frame.scrollHeight;
    return () => flame.destroy();
  }, [visibleTree, inverted, width, matches, differential, scheme]);

  useEffect(() => {
    const element = canvas.current;
    if (!element || cursor === null || width < 50) return;
    const group = frameElement(element, cursor);
    group?.classList.add(classes.cursor ?? "");
    return () => group?.classList.remove(classes.cursor ?? "");
  }, [cursor, width]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && cursor !== null) {
      event.preventDefault();
      onZoom(cursor);
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
    onFocus(next);
  };

  return (
    <div ref={useMergedRef(ref, outer)} className={classes.frame}>
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
      />
    </div>
  );
}
