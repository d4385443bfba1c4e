import { useElementSize } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Profile } from "../../client/models";
import { BlockSkeleton, ErrorLine, Loaded } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { type FlameNode, namesWith } from "../../core/profiles/flame";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { FlameGraph } from "../../widgets/flame-graph/FlameGraph";
import { SampleHeatmap } from "../../widgets/flame-graph/SampleHeatmap";
import { PinButton } from "../../widgets/pins/PinButton";
import { useCreateComparison, useFunctions, useHeat, useSearchMatches, useTree } from "./api";
import { FilterBar } from "./FilterBar";
import { FrameDetails, frameTitle } from "./FrameDetails";
import { FunctionsTable } from "./FunctionsTable";
import { PROFILE_FIELDS, type ProfileState, toFilter } from "./filter";
import classes from "./Profile.module.css";

/** The profile panel: filters above, heat strip with the brush, the drawing, and a detail line that stays. */
export function ProfilePanel({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const { ref, width } = useElementSize<HTMLDivElement>();
  const [focus, setFocus] = useState<FlameNode | null>(null);
  const filter = useMemo(() => toFilter(state as ProfileState), [state]);
  const callers = state.view === "callers";
  const drawing = state.view !== "table";
  const tabular = state.view === "table" || state.view === "both";
  const tree = useTree(
    profile.id,
    filter,
    { width: Math.round(width / 50) * 50, root: Number(state.root) || undefined, callers },
    drawing,
  );
  const heat = useHeat(profile.id, filter, profile.samples ?? 0, true);
  const top = useFunctions(profile.id, filter, tabular);
  const matches = useSearchMatches(profile.id, filter, state.q, drawing);
  const marks = useMemo(() => {
    if (!state.q) return undefined;
    // Callers have ids of their own; there the names decide.
    if (callers) return tree.data ? namesWith(tree.data.tree, state.q) : undefined;
    return matches.data ? new Set(matches.data.nodes) : undefined;
  }, [state.q, callers, tree.data, matches.data]);
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
  return (
    <Panel flush>
      <FilterBar
        profile={profile}
        filter={filter}
        matches={state.q ? matches.data : undefined}
        searchError={state.q ? matches.error : null}
        onCompare={state.b && state.c ? compareBrushes : undefined}
        comparing={diff.isPending}
      />
      <ErrorLine error={diff.error} />
      <div ref={ref} className={classes.body}>
        {heat.data ? (
          <SampleHeatmap
            heat={heat.data}
            brush={state.b}
            baseline={state.c}
            label={t("profile.heat")}
            onBrush={(range, baseline) => set(baseline ? { c: range } : { b: range }, { push: true })}
          />
        ) : (
          <BlockSkeleton height={40} />
        )}
        <div className={state.view === "both" ? classes.both : undefined}>
          {drawing && (
            <Loaded query={tree} skeleton={<BlockSkeleton height={420} />}>
              {(data) =>
                data.total === 0 ? (
                  <p className={classes.nothing}>{t("profile.nothing")}</p>
                ) : (
                  <div className={classes.drawing}>
                    <FlameGraph
                      tree={data.tree}
                      path={data.path ?? []}
                      inverted={state.view === "icicle" || callers}
                      matches={marks}
                      label={t("profile.drawing", { samples: data.samples })}
                      title={(node) => frameTitle(node, data.total, profile.unit)}
                      onZoom={(id) =>
                        set({ root: String(id) === rootId(data) ? "" : String(id) }, { push: true })
                      }
                      onFocus={setFocus}
                    />
                  </div>
                )
              }
            </Loaded>
          )}
          {tabular && (
            <Loaded query={top}>
              {(data) => (
                <FunctionsTable
                  rows={data.rows}
                  total={data.total}
                  unit={profile.unit}
                  q={state.q}
                  onPick={(frame) => set({ q: frame })}
                />
              )}
            </Loaded>
          )}
        </div>
      </div>
      <FrameDetails
        node={focus}
        total={tree.data?.total ?? 0}
        unit={profile.unit}
        matches={matches.data}
        q={state.q}
        action={
          state.root !== "" &&
          !callers &&
          tree.data && (
            <PinButton
              small
              target={{ kind: "frame", ref: { profile_id: profile.id, frames: stackOf(tree.data), filter } }}
              label={t("incidents.pin.frame")}
            />
          )
        }
      />
    </Panel>
  );
}

/** The zoomed frame with its callers, from the root on. */
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

/** The outermost frame of what is drawn: picking it goes back to the whole graph. */
function rootId(data: { path?: { id: number | string }[]; tree: FlameNode }): string {
  return String(data.path?.[0]?.id ?? data.tree.id);
}
