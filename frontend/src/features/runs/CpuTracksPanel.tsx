import { useElementSize } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { BlockSkeleton, Loaded } from "../../components/EmptyState";
import type { Range } from "../../core/time/range";
import { get, keys } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { rangeField, useUrlState } from "../../lib/urlState";
import { CpuTracks } from "../../widgets/cpu-tracks/CpuTracks";

const FIELDS = { sl: rangeField };

/** Who ran on each CPU; zoomed by wheel, drag and keys, fetched at the width of the screen. */
export function CpuTracksPanel({ runId, whole }: { runId: string; whole: Range }) {
  const { t } = useTranslation();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const [state, set] = useUrlState(FIELDS);
  const [live, setLive] = useState<Range | undefined>(undefined);
  const range = state.sl ?? whole;
  const px = Math.max(200, Math.round(width / 50) * 50);
  const query = useQuery({
    queryKey: [...keys.run(runId), "tracks", range, px],
    queryFn: ({ signal }) =>
      get(
        `/runs/${runId}/sched/tracks`,
        { from_ns: Math.round(range.from), to_ns: Math.round(range.to), width: px },
        signal,
      ),
    enabled: width > 0,
    placeholderData: keepPreviousData,
  });
  return (
    <div ref={ref}>
      <Loaded query={query} skeleton={<BlockSkeleton height={160} />}>
        {(tracks) => (
          <CpuTracks
            tracks={tracks}
            range={live ?? range}
            whole={whole}
            label={t("sched.tracks")}
            onLive={setLive}
            onRange={(next) => {
              setLive(undefined);
              set({ sl: next.from <= whole.from && next.to >= whole.to ? undefined : next });
            }}
          />
        )}
      </Loaded>
    </div>
  );
}
