import type { Profile } from "../../../client/models";
import { QueryContent } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { type Range, rangesOverlap } from "../../../core/time/range";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import { SchedulerTracksPanel } from "../../../widgets/scheduler/SchedulerTracksPanel";
import { useRunSchedules } from "../api";
import { PROFILE_FIELDS } from "../filter";
import classes from "../panel/Panel.module.css";
import { GUTTER_PX } from "./SampleTracks";

interface Props {
  profile: Profile;
  /** Time axis of all charts in the panel. */
  whole: Range;
}

/**
 * Scheduler events of the same run on the time axis of a profile. The selected thread is the filter of the profile.
 * Collectors of stacks and of the scheduler record in turn, so the events can be of another time: then a link to them.
 */
export function ScheduleTracks({ profile, whole }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const query = useRunSchedules(profile.run_id);
  return (
    <QueryContent inPlace query={query}>
      {(recordings) => {
        const same = recordings.find(({ range }) => rangesOverlap(range, whole));
        if (same)
          return (
            <SchedulerTracksPanel
              runId={profile.run_id}
              profileId={same.id}
              whole={same.range}
              axis={whole}
              range={state.b && rangesOverlap(state.b, whole) ? state.b : undefined}
              gutter={GUTTER_PX}
              chosen={state.tid}
              onChoose={(tid) => set({ tid }, { push: true })}
            />
          );
        return (
          <p className={classes.trackLine} data-testid="schedule-elsewhere">
            <span>
              {recordings.length === 0 ? t("profile.sched.none") : t("profile.sched.otherTime")}{" "}
              {recordings.map(({ id, range }) => (
                <Link key={id} to="/profiles/$profileId" params={{ profileId: id }}>
                  {`${time.time(range.from, 1e9)} – ${time.time(range.to, 1e9)}`}
                </Link>
              ))}
            </span>
          </p>
        );
      }}
    </QueryContent>
  );
}
