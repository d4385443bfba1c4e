import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import type { Profile } from "../../client/models";
import { BlockSkeleton, ErrorLine, Loaded } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { heatRange } from "../../core/charts/heat";
import { type FlameNode, matchingIds, pathTo, patternOf } from "../../core/profiles/flame";
import { exactPattern, type FrameAct, frameAct } from "../../core/profiles/frameKeys";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { useSelectionKeys } from "../../lib/useSelectionKeys";
import { useWindowWidth } from "../../lib/windowWidth";
import type { Point } from "../../widgets/flame-graph/drawing";
import { FlameGraph } from "../../widgets/flame-graph/FlameGraph";
import { SampleHeatmap } from "../../widgets/flame-graph/SampleHeatmap";
import { PinButton } from "../../widgets/pins/PinButton";
import { MetricTracks } from "../../widgets/timeline/MetricTracks";
import {
  useCreateComparison,
  useFunctions,
  useHeat,
  useHeaviest,
  useSampleTracks,
  useSearchMatches,
  useTree,
} from "./api";
import { FilterBar } from "./FilterBar";
import { FrameDetails, frameTitle } from "./FrameDetails";
import { FunctionsTable } from "./FunctionsTable";
import { drawsTree, PROFILE_FIELDS, type ProfileState, toFilter, toSelection, toTreeView } from "./filter";
import classes from "./Profile.module.css";
import { CallTree } from "./panel/CallTree";
import { FrameMenu } from "./panel/FrameMenu";
import { FramePath } from "./panel/FramePath";
import { MissingSymbols } from "./panel/MissingSymbols";
import { ModuleLegend } from "./panel/ModuleLegend";
import { GUTTER_PX, SampleTracks } from "./panel/SampleTracks";
import { SandwichView } from "./panel/SandwichView";
import { TopFunctions } from "./panel/TopFunctions";

/** Longest URL query that a pin stores. A longer zoom path is stored only in the pin's `frames`. */
const MAX_PIN_VIEW = 3500;

/** Profile panel: filters, heat map and tracks with the time selection, the selected view, and a detail line. */
export function ProfilePanel({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const width = useWindowWidth();
  const [hover, setHover] = useState<{ node: FlameNode; total: number } | null>(null);
  const [menu, setMenu] = useState<{ node: FlameNode; at: Point } | null>(null);
  const filter = useMemo(() => toFilter(state as ProfileState), [state]);
  const selection = useMemo(() => toSelection(state), [state]);
  const callers = state.view === "callers";
  const isSandwich = state.view === "sandwich";
  const hasTree = drawsTree(state.view);
  const isTabular = state.view === "table" || state.view === "both";
  const tree = useTree(profile.id, selection, toTreeView(state, width), hasTree);
  const heat = useHeat(profile.id, filter, profile.samples ?? 0, true);
  const tracksBy = state.tracks === "none" ? undefined : state.tracks;
  const metricsOf = state.metrics ? profile.host?.id : undefined;
  const tracks = useSampleTracks(profile.id, filter, tracksBy ?? "thread", tracksBy !== undefined);
  const top = useFunctions(profile.id, selection, isTabular || (isSandwich && !state.fn));
  const hasLine = hasTree && state.view !== "both";
  const heaviest = useHeaviest(profile.id, selection, hasLine && tree.data !== undefined);
  const matches = useSearchMatches(profile.id, selection, state.q, true);
  const marks = useMemo(() => {
    if (!state.q || !tree.data) return undefined;
    // Patterns use RE2 syntax, so the server matches them. Its search does not know the node IDs of the callers tree.
    if (!callers && patternOf(state.q)) return new Set<FlameNode["id"]>(matches.data?.nodes);
    return matchingIds(tree.data.tree, state.q);
  }, [state.q, callers, tree.data, matches.data]);
  const names = useMemo(() => (tree.data ? stackOf(tree.data) : []), [tree.data]);
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
  useEffect(() => setHover(null), [tree.data, state.view, state.fn]);

  const namesTo = (id: FlameNode["id"]): string[] => {
    if (!tree.data) return [];
    const above = (tree.data.path ?? []).map((step) => step.name);
    const at = (tree.data.path ?? []).findIndex((step) => step.id === id);
    if (at >= 0) return above.slice(1, at + 1);
    return [...above, ...pathTo(tree.data.tree, id).map((node) => node.name)].slice(1);
  };
  const act = (what: FrameAct, node: FlameNode) => {
    setMenu(null);
    if (what === "copyName") void navigator.clipboard?.writeText(node.name);
    else if (what === "copyStack")
      void navigator.clipboard?.writeText(namesTo(node.id).join(";") || node.name);
    else if (what === "zoom") {
      if (isSandwich) set({ fn: node.name }, { push: true });
      else set({ at: namesTo(node.id) }, { push: true });
    } else if (what === "search") set({ q: node.name });
    else if (what === "module") set({ mod: node.module ?? "" }, { push: true });
    else if (what === "only") set({ stack: exactPattern(node.name) }, { push: true });
    else if (what === "sandwich") set({ view: "sandwich", fn: node.name, at: [] }, { push: true });
    else if (what === "focus") set({ focus: node.name, at: [] }, { push: true });
    else if (what === "hide") set({ hide: [...state.hide, node.name], at: [] }, { push: true });
  };
  const onFrameKey = (node: FlameNode, key: string): boolean => {
    const chosen = frameAct(key);
    if (!chosen || !isFunction(node) || (chosen === "module" && !node.module)) return false;
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
        {heat.data ? (
          <div style={{ paddingLeft: (tracksBy || metricsOf) && whole ? GUTTER_PX : 0 }}>
            <SampleHeatmap
              heat={heat.data}
              brush={state.b}
              baseline={state.c}
              label={t("profile.heat")}
              onBrush={(range, baseline) => set(baseline ? { c: range } : { b: range }, { push: true })}
            />
          </div>
        ) : heat.error ? (
          // The tree fails for the same selection and displays its error in the larger area below.
          !tree.error && <ErrorLine error={heat.error} />
        ) : (
          <BlockSkeleton height={40} />
        )}
        {tracksBy && whole && (
          <Loaded inPlace query={tracks} skeleton={<BlockSkeleton height={120} />}>
            {(data) => (
              <SampleTracks
                data={data}
                by={tracksBy}
                unit={profile.unit}
                whole={whole}
                brush={state.b}
                chosen={{ thread: state.tid, process: state.pid, cpu: state.cpu }[tracksBy]}
                onBrush={(b) => set({ b }, { push: true })}
                onChoose={(id) =>
                  set(
                    tracksBy === "thread" ? { tid: id } : tracksBy === "process" ? { pid: id } : { cpu: id },
                    {
                      push: true,
                    },
                  )
                }
              />
            )}
          </Loaded>
        )}
        {metricsOf && whole && (
          <MetricTracks
            hostId={metricsOf}
            range={whole}
            gutter={GUTTER_PX}
            brush={state.b}
            baseline={state.c}
            onBrush={(b) => set({ b }, { push: true })}
            onBaseline={(c) => set({ c }, { push: true })}
          />
        )}
        <FramePath
          profile={profile}
          names={hasTree ? names : []}
          total={hasTree ? tree.data?.total : undefined}
          samples={hasTree ? tree.data?.samples : undefined}
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
        <div className={state.view === "both" ? classes.both : undefined}>
          {isSandwich && (
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
            />
          )}
          {hasTree && (
            <Loaded inPlace query={tree} skeleton={<BlockSkeleton height={420} />}>
              {(data) =>
                data.total === 0 ? (
                  <p className={classes.nothing}>{t("profile.nothing")}</p>
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
            </Loaded>
          )}
          {isTabular && (
            <Loaded inPlace query={top}>
              {(data) => (
                <FunctionsTable
                  rows={data.rows}
                  total={data.total}
                  unit={profile.unit}
                  q={state.q}
                  onPick={(frame) => set({ q: frame })}
                  onMenu={onMenu}
                />
              )}
            </Loaded>
          )}
        </div>
      </div>
      <FrameDetails
        node={hover?.node ?? null}
        total={hover?.total ?? 0}
        unit={profile.unit}
        matches={matches.data}
        q={state.q}
        action={
          state.at.length > 0 &&
          !callers &&
          hasTree &&
          tree.data && (
            <PinButton
              small
              target={{ kind: "frame", ref: { profile_id: profile.id, frames: stackOf(tree.data), filter } }}
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
          onAct={(what) => act(what, menu.node)}
          onClose={() => setMenu(null)}
        />
      )}
    </Panel>
  );
}

/** Return whether a node is a function. Task names, the root and pruned nodes support no action but zoom. */
const isFunction = (node: FlameNode): boolean => !["root", "comm", "pruned"].includes(node.kind);

/** Return the frame names from the root to the zoomed frame, both included. */
function stackOf({
  path = [],
  tree,
}: {
  path?: { id: number | string; name: string }[];
  tree: FlameNode;
}): string[] {
  const names = path.map((item) => item.name);
  return String(path.at(-1)?.id) === String(tree.id) ? names : [...names, tree.name];
}
