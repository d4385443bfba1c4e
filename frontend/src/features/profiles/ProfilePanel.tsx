import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import type { Profile } from "../../client/models";
import { BlockSkeleton, ErrorLine, QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { heatRange } from "../../core/charts/heat";
import {
  type FlameNode,
  findFramePath,
  findMatchingFrames,
  parseSearchPattern,
  walk,
} from "../../core/profiles/flame";
import { type FrameAction, findFrameAction, toExactPattern } from "../../core/profiles/frameKeys";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { useSelectionKeys } from "../../lib/useSelectionKeys";
import { useTreeWidth } from "../../lib/useTreeWidth";
import type { Point } from "../../widgets/flame-graph/drawing";
import { FlameGraph } from "../../widgets/flame-graph/FlameGraph";
import { PinButton } from "../../widgets/pins/PinButton";
import {
  type TimeOrder,
  useCreateComparison,
  useFunctions,
  useHeat,
  useHeaviestFunctions,
  useSearchMatches,
  useTimeOrder,
  useTree,
} from "./api";
import { CodeDialog } from "./code/CodeDialog";
import { FilterBar } from "./FilterBar";
import { FrameDetails, frameTitle } from "./FrameDetails";
import { FunctionsTable } from "./FunctionsTable";
import {
  isTreeView,
  PROFILE_FIELDS,
  type ProfileState,
  toBoxSelection,
  toFilter,
  toSelection,
  toTreeView,
} from "./filter";
import classes from "./Profile.module.css";
import { CallTree } from "./panel/CallTree";
import { EmptySelection } from "./panel/EmptySelection";
import { FrameMenu } from "./panel/FrameMenu";
import { FramePath } from "./panel/FramePath";
import { MissingSymbols } from "./panel/MissingSymbols";
import { ModuleLegend } from "./panel/ModuleLegend";
import { SandwichView } from "./panel/SandwichView";
import { TimeOrderView, useBoxTimes } from "./panel/TimeOrderView";
import { TopFunctions } from "./panel/TopFunctions";
import { TimeTracks } from "./tracks/TimeTracks";

/** Longest URL query that a pin stores. A longer zoom path is stored only in the pin's `frames`. */
const MAX_PIN_VIEW = 3500;

/** Profile panel: filters, heat map and tracks with the time selection, the selected view, and a detail line. */
export function ProfilePanel({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const width = useTreeWidth();
  const [hover, setHover] = useState<{ node: FlameNode; total: number } | null>(null);
  const [menu, setMenu] = useState<{ node: FlameNode; at: Point } | null>(null);
  const filter = useMemo(() => toFilter(state as ProfileState), [state]);
  const selection = useMemo(() => toSelection(state), [state]);
  const callers = state.view === "callers";
  const isSandwich = state.view === "sandwich";
  const isTimeOrder = state.view === "time";
  const hasTree = isTreeView(state.view);
  const isTabular = state.view === "table" || state.view === "both";
  const tree = useTree(profile.id, selection, toTreeView(state, width), hasTree);
  const by = state.cpu !== undefined && state.tid === undefined ? "cpu" : "thread";
  const order = useTimeOrder(profile.id, selection, by, width, isTimeOrder);
  const boxTimes = useBoxTimes();
  const heat = useHeat(profile.id, filter, profile.samples ?? 0, true);
  const top = useFunctions(profile.id, selection, isTabular || (isSandwich && !state.fn));
  const hasLine = hasTree && !tree.error && state.view !== "both";
  const heaviest = useHeaviestFunctions(profile.id, selection, hasLine && tree.data !== undefined);
  // The share of a search is that of the displayed thread or CPU.
  const displayed = isTimeOrder && order.data ? { ...selection, ...toTrack(order.data) } : selection;
  const matches = useSearchMatches(profile.id, displayed, state.q, !isTimeOrder || order.data !== undefined);
  const timeTree = isTimeOrder ? (order.data?.tree ?? undefined) : undefined;
  const marks = useMemo(() => {
    if (state.q && timeTree) return findTimeOrderMatches(timeTree, state.q, matches.data?.frames);
    if (!state.q || !tree.data) return undefined;
    // Patterns use RE2 syntax, so the server matches them. Its search does not know the node IDs of the callers tree.
    if (!callers && parseSearchPattern(state.q)) return new Set<FlameNode["id"]>(matches.data?.nodes);
    return findMatchingFrames(tree.data.tree, state.q);
  }, [state.q, callers, tree.data, timeTree, matches.data]);
  const names = useMemo(() => (tree.data ? listZoomedStack(tree.data) : []), [tree.data]);
  const can = usePermission();
  const hasCode = hasAddresses(profile) && can("profile.disassemble");
  const diff = useCreateComparison();
  const compareBrushes = () => {
    if (!state.b || !state.c) return;
    diff.mutate(
      {
        a: { profile_id: profile.id, filter: toFilter(state as ProfileState, state.c) },
        b: { profile_id: profile.id, filter },
      },
      {
        onSuccess: (comparison) =>
          void navigate({ to: "/comparisons/$diffId", params: { diffId: comparison.id } }),
      },
    );
  };
  const whole = heat.data && heat.data.colNs > 0 ? heatRange(heat.data) : undefined;
  useSelectionKeys({
    whole,
    brush: state.b,
    onBrush: (b) => set({ b }),
    onEscape: () => {
      if (state.q) set({ q: "" });
      else if (state.at.length > 0) set({ at: [] }, { push: true });
      else if (state.b) set({ b: undefined }, { push: true });
      else if (state.c) set({ c: undefined }, { push: true });
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the tree of the numeric root has loaded
  useEffect(() => {
    if (state.root !== undefined && tree.data && !tree.isPlaceholderData)
      set({ root: undefined, at: names.slice(1) });
  }, [state.root, tree.data, tree.isPlaceholderData]);
  // The detail line must not keep a frame that the new view does not contain.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new view is the trigger
  useEffect(() => setHover(null), [tree.data, order.data, state.view, state.fn]);

  const namesTo = (id: FlameNode["id"]): string[] => {
    if (timeTree)
      return findFramePath(timeTree, id)
        .map((node) => node.name)
        .slice(1);
    if (!tree.data) return [];
    const above = (tree.data.path ?? []).map((step) => step.name);
    const at = (tree.data.path ?? []).findIndex((step) => step.id === id);
    if (at >= 0) return above.slice(1, at + 1);
    return [...above, ...findFramePath(tree.data.tree, id).map((node) => node.name)].slice(1);
  };
  const act = (what: FrameAction, node: FlameNode) => {
    setMenu(null);
    if (what === "copyName") void navigator.clipboard?.writeText(node.name);
    else if (what === "copyStack")
      void navigator.clipboard?.writeText(namesTo(node.id).join(";") || node.name);
    else if (what === "zoom") {
      if (isSandwich) set({ fn: node.name }, { push: true });
      else if (isTimeOrder) order.data && set(toBoxSelection(node, order.data), { push: true });
      else set({ at: namesTo(node.id) }, { push: true });
    } else if (what === "search") set({ q: node.name });
    else if (what === "module") set({ mod: node.module ?? "" }, { push: true });
    else if (what === "only") set({ stack: toExactPattern(node.name) }, { push: true });
    else if (what === "sandwich") set({ view: "sandwich", fn: node.name, at: [] }, { push: true });
    else if (what === "code") set({ code: node.name, codeModule: node.module ?? "" }, { push: true });
    else if (what === "focus") set({ focus: node.name, at: [] }, { push: true });
    else if (what === "hide") set({ hide: [...state.hide, node.name], at: [] }, { push: true });
  };
  const onFrameKey = (node: FlameNode, key: string): boolean => {
    const chosen = findFrameAction(key);
    if (!chosen || !isFunction(node) || (chosen === "module" && !node.module)) return false;
    if (chosen === "code" && !hasCode) return false;
    act(chosen, node);
    return true;
  };
  const onFocus = (node: FlameNode | null, total = tree.data?.total ?? 0) =>
    setHover(node && { node, total });
  const onMenu = (node: FlameNode, at: Point) => isFunction(node) && setMenu({ node, at });

  return (
    <Panel flush>
      <FilterBar
        profile={profile}
        filter={filter}
        matches={state.q ? matches.data : undefined}
        searchError={state.q ? matches.error : null}
        onCompare={state.b && state.c ? compareBrushes : undefined}
        comparing={diff.isPending}
        isRendered={!hasTree || !tree.isFetching}
      />
      <ErrorLine error={diff.error} />
      <MissingSymbols profile={profile} selection={filter} />
      <div className={classes.body}>
        <TimeTracks
          profile={profile}
          filter={filter}
          heat={heat}
          whole={whole}
          hasErrorBelow={tree.error !== null}
        />
        <FramePath
          profile={profile}
          names={hasTree ? names : []}
          total={hasTree ? tree.data?.total : isTimeOrder ? order.data?.total : undefined}
          samples={hasTree ? tree.data?.samples : isTimeOrder ? order.data?.samples : undefined}
        />
        {hasLine && !heaviest.error && (
          <TopFunctions
            rows={heaviest.data?.rows}
            total={heaviest.data?.total ?? 0}
            onPick={(q) => set({ q })}
          />
        )}
        {state.color === "module" && hasTree && tree.data && (
          <ModuleLegend
            tree={tree.data.tree}
            total={tree.data.total}
            onPick={(mod) => set({ mod }, { push: true })}
          />
        )}
        <div className={state.view === "both" ? classes.splitView : undefined}>
          {isSandwich && !state.fn && top.data?.rows.length === 0 && <EmptySelection filter={filter} />}
          {isSandwich && (state.fn || top.data?.rows.length !== 0) && (
            <SandwichView
              profileId={profile.id}
              selection={selection}
              fn={state.fn}
              q={state.q}
              unit={profile.unit}
              width={width}
              colorBy={state.color}
              heaviest={top.data?.rows ?? []}
              onPick={(fn) => set({ fn }, { push: true })}
              onFocus={onFocus}
              onMenu={onMenu}
              onFrameKey={onFrameKey}
              onCode={hasCode ? (code, codeModule) => set({ code, codeModule }, { push: true }) : undefined}
            />
          )}
          {isTimeOrder && (
            <TimeOrderView
              query={order}
              filter={filter}
              unit={profile.unit}
              colorBy={state.color}
              matches={marks}
              hasTimes={profile.t0_ns !== null}
              onZoom={(node, data) => set(toBoxSelection(node, data), { push: true })}
              onFocus={onFocus}
              onMenu={onMenu}
              onFrameKey={onFrameKey}
            />
          )}
          {hasTree && (
            <QueryContent inPlace query={tree} skeleton={<BlockSkeleton height={420} />}>
              {(data) =>
                data.total === 0 ? (
                  <EmptySelection filter={filter} />
                ) : state.view === "tree" ? (
                  <CallTree
                    tree={data.tree}
                    total={data.total}
                    unit={profile.unit}
                    matches={marks}
                    onFocus={onFocus}
                    onMenu={onMenu}
                    onFrameKey={onFrameKey}
                  />
                ) : (
                  <div className={classes.drawing}>
                    <FlameGraph
                      fitsView
                      tree={data.tree}
                      path={data.path ?? []}
                      inverted={state.view === "icicle" || callers}
                      matches={marks}
                      colorBy={state.color}
                      label={t("profile.drawing", { samples: data.samples })}
                      title={(node) => frameTitle(node, data.total, profile.unit)}
                      onZoom={(id) => set({ at: namesTo(id) }, { push: true })}
                      onFocus={onFocus}
                      onMenu={onMenu}
                      onFrameKey={onFrameKey}
                    />
                  </div>
                )
              }
            </QueryContent>
          )}
          {isTabular && (
            <QueryContent inPlace query={top}>
              {(data) =>
                data.rows.length > 0 ? (
                  <FunctionsTable
                    rows={data.rows}
                    total={data.total}
                    unit={profile.unit}
                    q={state.q}
                    onPick={(frame) => set({ q: frame })}
                    onMenu={onMenu}
                  />
                ) : (
                  state.view === "table" && <EmptySelection filter={filter} />
                )
              }
            </QueryContent>
          )}
        </div>
      </div>
      <FrameDetails
        node={hover?.node ?? null}
        total={hover?.total ?? 0}
        unit={profile.unit}
        matches={matches.data}
        q={state.q}
        delta={hover ? boxTimes(hover.node) : ""}
        action={
          state.at.length > 0 &&
          !callers &&
          hasTree &&
          tree.data && (
            <PinButton
              small
              target={{
                kind: "frame",
                ref: { profile_id: profile.id, frames: listZoomedStack(tree.data), filter },
              }}
              label={t("incidents.pin.frame")}
              {...(window.location.search.length > MAX_PIN_VIEW ? { view: `/profiles/${profile.id}` } : {})}
            />
          )
        }
      />
      {menu && (
        <FrameMenu
          node={menu.node}
          at={menu.at}
          hasCode={hasCode}
          onAct={(what) => act(what, menu.node)}
          onClose={() => setMenu(null)}
        />
      )}
      {state.code && (
        <CodeDialog
          profile={profile}
          name={state.code}
          module={state.codeModule}
          onClose={() => set({ code: "", codeModule: "" })}
        />
      )}
    </Panel>
  );
}

/** Return the filter of the displayed thread or CPU. */
const toTrack = ({ by, tid, cpu }: TimeOrder) => (by === "thread" ? { tid: [tid] } : { cpu: [cpu] });

/**
 * Return the ids of boxes that match a search. Patterns use RE2 syntax, so `frames` are the matching names of the
 * server.
 */
function findTimeOrderMatches(root: FlameNode, q: string, frames: readonly string[] | undefined) {
  if (!parseSearchPattern(q)) return findMatchingFrames(root, q);
  const names = new Set(frames);
  const matches = new Set<FlameNode["id"]>();
  for (const { node } of walk(root)) if (names.has(node.name)) matches.add(node.id);
  return matches;
}

/** Kinds of profiles that are computed from other events than samples of CPUs. */
const DERIVED = new Set(["off_cpu", "wall_time", "block_io", "futex", "imported"]);

/** Return whether the samples of a profile may have addresses of instructions. */
const hasAddresses = ({ unit, kind }: Profile): boolean => unit === "samples" && !DERIVED.has(kind);

/** Return whether a node is a function. Task names, the root and pruned nodes support no action but zoom. */
const isFunction = (node: FlameNode): boolean => !["root", "comm", "pruned"].includes(node.kind);

/** Return the frame names from the root to the zoomed frame, both included. */
function listZoomedStack({
  path = [],
  tree,
}: {
  path?: { id: number | string; name: string }[];
  tree: FlameNode;
}): string[] {
  const names = path.map((item) => item.name);
  return String(path.at(-1)?.id) === String(tree.id) ? names : [...names, tree.name];
}
