import type { UseQueryResult } from "@tanstack/react-query";
import type { Profile } from "../../../client/models";
import { BlockSkeleton, ErrorLine, QueryContent } from "../../../components/EmptyState";
import type { Heat } from "../../../core/charts/heat";
import type { Range } from "../../../core/time/range";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import { SampleHeatmap } from "../../../widgets/flame-graph/SampleHeatmap";
import { MetricTracks } from "../../../widgets/timeline/MetricTracks";
import { useSampleTracks } from "../api";
import { type Filter, PROFILE_FIELDS } from "../filter";
import classes from "../panel/Panel.module.css";
import { GUTTER_PX, SampleTracks } from "./SampleTracks";
import { ScheduleTracks } from "./ScheduleTracks";
import { AXIS_PX, TimeAxis } from "./TimeAxis";

interface Props {
  profile: Profile;
  filter: Filter;
  heat: UseQueryResult<Heat>;
  /** Time range of the profile; undefined if its samples have no times. */
  whole: Range | undefined;
  /** Whether another part of the panel displays the error of the selection. */
  hasErrorBelow: boolean;
}

/** Height of the heat map. */
const STRIP_PX = 40;

const FILTER_OF = { thread: "tid", process: "pid", cpu: "cpu" } as const;

/** Charts on one time axis: heat map, tracks of samples, scheduler events and metrics. All set the same selection. */
export function TimeTracks({ profile, filter, heat, whole, hasErrorBelow }: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const by = state.tracks === "none" ? undefined : state.tracks;
  const metricsOf = state.metrics ? profile.host?.id : undefined;
  const tracks = useSampleTracks(profile.id, filter, by ?? "thread", by !== undefined);
  const select = (b: Range | undefined) => set({ b }, { push: true });
  const hasTracks = by !== undefined || metricsOf !== undefined || state.sched;
  return (
    <>
      {heat.data ? (
        <div style={{ paddingLeft: hasTracks && whole ? GUTTER_PX : 0 }}>
          {whole && <TimeAxis range={whole} />}
          <SampleHeatmap
            heat={heat.data}
            brush={state.b}
            baseline={state.c}
            label={t("profile.heat")}
            onBrush={(range, baseline) => set(baseline ? { c: range } : { b: range }, { push: true })}
          />
        </div>
      ) : heat.error ? (
        !hasErrorBelow && <ErrorLine error={heat.error} />
      ) : (
        <BlockSkeleton height={STRIP_PX + (profile.t0_ns === null ? 0 : AXIS_PX)} />
      )}
      {hasTracks && heat.data && !whole && <p className={classes.trackLine}>{t("profile.tracks.noTimes")}</p>}
      {by && whole && (
        <QueryContent inPlace query={tracks} skeleton={<BlockSkeleton height={120} />}>
          {(data) => (
            <SampleTracks
              data={data}
              by={by}
              unit={profile.unit}
              whole={whole}
              brush={state.b}
              chosen={state[FILTER_OF[by]]}
              onBrush={select}
              onChoose={(id) => set({ [FILTER_OF[by]]: id }, { push: true })}
            />
          )}
        </QueryContent>
      )}
      {state.sched && whole && <ScheduleTracks profile={profile} whole={whole} />}
      {metricsOf && whole && (
        <MetricTracks
          hostId={metricsOf}
          range={whole}
          gutter={GUTTER_PX}
          brush={state.b}
          baseline={state.c}
          onBrush={select}
          onBaseline={(c) => set({ c }, { push: true })}
        />
      )}
    </>
  );
}
