import { Button, Checkbox, Popover, SegmentedControl, TextInput } from "@mantine/core";
import { useDebouncedCallback, useHotkeys } from "@mantine/hooks";
import { GitCompareArrows, Search, SlidersHorizontal } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Profile } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { ButtonLink } from "../../components/Link";
import { COLORS, type ColorBy } from "../../core/profiles/colors";
import { formatPercent } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { type Facets, useFacets, useRunSchedules } from "./api";
import {
  type Filter,
  isFiltered,
  PROFILE_FIELDS,
  TRACK_GROUPINGS,
  type TrackGrouping,
  toSearch,
  VIEWS,
  type View,
} from "./filter";
import classes from "./Profile.module.css";
import { FacetSelect } from "./panel/Facet";
import { FilterMenu } from "./panel/FilterMenu";

interface Props {
  profile: Profile;
  filter: Filter;
  matches: { share: number } | undefined;
  searchError: unknown;
  onCompare?: (() => void) | undefined;
  comparing: boolean;
  /** Whether the view has rendered; filter options are requested after that. */
  isRendered: boolean;
}

/** Controls for view, process, thread, other filters and search; all state is in the URL. */
export function FilterBar({
  profile,
  filter,
  matches,
  searchError,
  onCompare,
  comparing,
  isRendered,
}: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const facets = useFacets(profile.id, filter, isRendered).data;
  const total = facets?.cpus.reduce((sum, item) => sum + item.weight, 0) ?? 0;
  const share = (weight: number) => formatPercent(total > 0 ? weight / total : 0);
  const threads = facets?.threads.filter((item) => state.pid === undefined || item.pid === state.pid) ?? [];
  return (
    <div className={classes.bar}>
      <SegmentedControl
        size="xs"
        aria-label={t("profile.view.label")}
        value={state.view}
        onChange={(value) =>
          set({ view: value as View, ...(keepsZoomPath(value as View, state.view) ? {} : { at: [] }) })
        }
        data={VIEWS.map((value) => ({ value, label: t(`profile.view.${value}`) }))}
      />
      <FacetSelect
        label={t("profile.process")}
        value={String(state.pid ?? "")}
        nameOf={(pid) => `${t("profile.process")} ${pid}`}
        onChange={(pid) => set({ pid: parseOptionalNumber(pid), tid: undefined })}
        options={(facets?.processes ?? []).map((p) => [p.pid, `${p.comm} ${p.pid} · ${share(p.weight)}`])}
      />
      <FacetSelect
        label={t("profile.thread")}
        value={String(state.tid ?? "")}
        nameOf={(tid) => `${t("profile.thread")} ${tid}`}
        onChange={(tid) => set({ tid: parseOptionalNumber(tid) })}
        options={mergeThreadNames(threads).map((p) => [p.tid, `${p.comm} ${p.tid} · ${share(p.weight)}`])}
      />
      <FilterMenu facets={facets} total={total} />
      <DisplayMenu runId={profile.run_id} />
      <SearchField share={matches?.share} />
      <ErrorLine error={searchError} />
      <span className={classes.spacer} />
      {onCompare ? (
        <Button leftSection={<GitCompareArrows size={14} />} loading={comparing} onClick={onCompare}>
          {t("profile.compareBrushes")}
        </Button>
      ) : (
        <ButtonLink
          variant="default"
          leftSection={<GitCompareArrows size={14} />}
          to="/compare"
          search={{ bp: profile.id, ...(isFiltered(filter) ? toSearch(filter) : {}) }}
        >
          {t("profile.compare")}
        </ButtonLink>
      )}
    </div>
  );
}

const parseOptionalNumber = (value: string): number | undefined => (value ? Number(value) : undefined);

/** Return whether a change of view keeps the zoom path; paths of the callers view differ from all others. */
const keepsZoomPath = (next: View, before: View): boolean => (next === "callers") === (before === "callers");

/** Menu with colors, tracks, and transformations of stacks. */
function DisplayMenu({ runId }: { runId: string }) {
  const { t } = useTranslation();
  const schedules = useRunSchedules(runId).data ?? [];
  const [state, set] = useUrlState(PROFILE_FIELDS);
  return (
    <Popover position="bottom-start" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" size="xs" leftSection={<SlidersHorizontal size={13} />}>
          {t("profile.display")}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={classes.display}>
        <fieldset>
          <legend>{t("profile.color.label")}</legend>
          <SegmentedControl
            size="xs"
            aria-label={t("profile.color.label")}
            value={state.color}
            onChange={(color) => set({ color: color as ColorBy })}
            data={COLORS.map((value) => ({ value, label: t(`profile.color.${value}`) }))}
          />
        </fieldset>
        <fieldset>
          <legend>{t("profile.tracks.label")}</legend>
          <SegmentedControl
            size="xs"
            aria-label={t("profile.tracks.label")}
            value={state.tracks}
            onChange={(tracks) => set({ tracks: tracks as TrackGrouping })}
            data={TRACK_GROUPINGS.map((value) => ({ value, label: t(`profile.tracks.by.${value}`) }))}
          />
        </fieldset>
        <Checkbox
          size="xs"
          label={t("profile.metrics")}
          checked={state.metrics}
          onChange={(event) => set({ metrics: event.currentTarget.checked })}
        />
        {(state.sched || schedules.length > 0) && (
          <Checkbox
            size="xs"
            label={t("profile.sched.show")}
            checked={state.sched}
            onChange={(event) => set({ sched: event.currentTarget.checked })}
          />
        )}
        <Checkbox
          size="xs"
          label={t("profile.fold")}
          checked={state.norec}
          onChange={(event) => set({ norec: event.currentTarget.checked, at: [] })}
        />
        <Checkbox
          size="xs"
          label={t("profile.group")}
          checked={state.group}
          onChange={(event) => set({ group: event.currentTarget.checked, at: [] })}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

/** Return one entry per TID; the server lists a thread that was renamed while sampled once per name. */
export function mergeThreadNames(threads: Facets["threads"]): Facets["threads"] {
  const byTid = new Map<number, Facets["threads"][number]>();
  for (const thread of threads) {
    const known = byTid.get(thread.tid);
    byTid.set(thread.tid, known ? { ...known, weight: known.weight + thread.weight } : thread);
  }
  return [...byTid.values()];
}

function SearchField({ share }: { share: number | undefined }) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const [text, setText] = useState(state.q);
  const input = useRef<HTMLInputElement>(null);
  const commit = useDebouncedCallback((q: string) => set({ q }), 120);
  useEffect(() => setText(state.q), [state.q]);
  useHotkeys([["/", () => input.current?.focus()]]);
  return (
    <TextInput
      ref={input}
      size="xs"
      className={classes.search}
      aria-label={t("profile.search")}
      placeholder={`${t("profile.search")}  /`}
      leftSection={<Search size={13} />}
      rightSectionWidth={52}
      rightSection={
        share !== undefined && (
          <span className={classes.matched} data-testid="search-share">
            {formatPercent(share)}
          </span>
        )
      }
      value={text}
      maxLength={200}
      onChange={(event) => {
        setText(event.currentTarget.value);
        commit(event.currentTarget.value.trim());
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        setText("");
        set({ q: "" });
        input.current?.blur();
      }}
    />
  );
}
