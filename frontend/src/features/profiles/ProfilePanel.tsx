import { useElementSize } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Profile } from "../../client/types";
import { Panel } from "../../components/Page";
import { BlockSkeleton, ErrorLine, Loaded } from "../../components/States";
import { type FlameNode, namesWith } from "../../core/flame";
import { useUrlState } from "../../lib/urlState";
import { FlameGraph } from "../../renderers/flame/FlameGraph";
import { HeatStrip } from "../../renderers/heat/HeatStrip";
import { PinButton } from "../../renderers/incident/PinButton";
import { Detail, frameTitle } from "./Detail";
import { FilterBar } from "./FilterBar";
import { PROFILE_FIELDS, type ProfileState, toFilter } from "./filter";
import classes from "./Profile.module.css";
import { useCreateDiff, useFound, useHeat, useTop, useTree } from "./queries";
import { TopTable } from "./TopTable";

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
    { width: Math.round(width / 50) * 50, root: state.root || undefined, callers },
    drawing,
  );
  const heat = useHeat(profile.id, filter, profile.samples ?? 0, true);
  const top = useTop(profile.id, filter, tabular);
  const found = useFound(profile.id, filter, state.q, drawing);
  const marks = useMemo(() => {
    if (!state.q) return undefined;
    // Callers have ids of their own; there the names decide.
    if (callers) return tree.data ? namesWith(tree.data.tree, state.q) : undefined;
    return found.data ? new Set(found.data.nodes) : undefined;
  }, [state.q, callers, tree.data, found.data]);
  const diff = useCreateDiff();
  const compareBrushes = () => {
    if (!state.b || !state.c) return;
    diff.mutate(
      {
        a: { profile_id: profile.id, filter: toFilter(state as ProfileState, state.c) },
        b: { profile_id: profile.id, filter },
        normalise: "share",
      },
      { onSuccess: (made) => void navigate({ to: "/diffs/$diffId", params: { diffId: made.id } }) },
    );
  };
  return (
    <Panel flush>
      <FilterBar
        profile={profile}
        filter={filter}
        found={state.q ? found.data : undefined}
        searchError={state.q ? found.error : null}
        onCompare={state.b && state.c ? compareBrushes : undefined}
        comparing={diff.isPending}
      />
      <ErrorLine error={diff.error} />
      <div ref={ref} className={classes.body}>
        {heat.data ? (
          <HeatStrip
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
                      found={marks}
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
                <TopTable
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
      <Detail
        node={focus}
        total={tree.data?.total ?? 0}
        unit={profile.unit}
        found={found.data}
        q={state.q}
        action={
          state.root !== "" &&
          !callers &&
          tree.data && (
            <PinButton
              small
              kind="frame"
              of={{ profile_id: profile.id, frames: stackOf(tree.data), filter }}
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
  const names = path.map((one) => one.name);
  return String(path.at(-1)?.id) === String(tree.id) ? names : [...names, tree.name];
}

/** The outermost frame of what is drawn: picking it goes back to the whole graph. */
function rootId(data: { path?: { id: number | string }[]; tree: FlameNode }): string {
  return String(data.path?.[0]?.id ?? data.tree.id);
}
