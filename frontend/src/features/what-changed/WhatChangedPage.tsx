import { Button } from "@mantine/core";
import { ArrowLeftRight } from "lucide-react";
import { useMemo } from "react";
import { BlockSkeleton, EmptyState, ErrorState, QueryContent } from "../../components/EmptyState";
import { ButtonLink } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { Tabs } from "../../components/Tabs";
import { formatRange } from "../../core/time/range";
import { useHosts, useProfiles } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, rangeField, textField, useUrlState } from "../../lib/urlState";
import { findBestProfile } from "../../widgets/timeline/BrushBar";
import {
  chooseAfter,
  chooseBefore,
  findRunByRange,
  listFinishedRuns,
} from "../../widgets/timeline/changes/selections";
import {
  type Differences,
  type Selection,
  useDifferences,
} from "../../widgets/timeline/changes/useDifferences";
import { useOverview } from "../../widgets/timeline/useTimelineData";
import { ConfigurationTable, EventsTable, UnmatchedSeries } from "./OtherDifferences";
import { SelectionFields } from "./SelectionFields";
import { SeriesTable } from "./SeriesTable";
import classes from "./WhatChanged.module.css";

/** URL parameters: selection B (`host`, `b`) is compared with A (`base`, `c`); both can use the same host. */
const FIELDS = { host: textField, b: rangeField, base: textField, c: rangeField };
const MAX_SERIES = 200;
const TABS = ["series", "functions", "configuration", "events"] as const;
const TAB_FIELDS = { tab: choiceField(TABS, "series") };

/** Everything that differs between two selections: series, functions, configuration and events, ranked. */
export function WhatChangedPage() {
  const { t } = useTranslation();
  const hosts = useHosts();
  const [state, set] = useUrlState(FIELDS);
  const afterHost = state.host || hosts.data?.[0]?.id || "";
  const beforeHost = state.base || afterHost;
  const afterOverview = useOverview(afterHost);
  const beforeOverview = useOverview(beforeHost);
  const afterRuns = afterOverview.data?.runs;
  const beforeRuns = beforeOverview.data?.runs;
  const failed = [hosts, afterOverview, beforeOverview].find((item) => item.error && !item.data);
  const after = useMemo<Selection | undefined>(() => {
    const range = state.b ?? (afterRuns && chooseAfter(afterRuns));
    return range && { host: afterHost, range };
  }, [state.b, afterRuns, afterHost]);
  const before = useMemo<Selection | undefined>(() => {
    const defaultRange =
      after &&
      beforeRuns &&
      chooseBefore(beforeRuns, after.range, {
        sameHost: beforeHost === afterHost,
        plan: findRunByRange(afterRuns ?? [], after.range)?.plan,
      });
    const range = state.c ?? defaultRange;
    return range && { host: beforeHost, range };
  }, [state.c, after, beforeRuns, beforeHost, afterHost, afterRuns]);
  const query = useDifferences(before, after, MAX_SERIES);
  const swap = () =>
    set({ host: beforeHost, base: afterHost, b: before?.range, c: after?.range }, { push: true });
  const hasRuns = afterRuns && listFinishedRuns(afterRuns).length > 0;
  return (
    <Page
      title={t("whatChanged.title")}
      meta={t("whatChanged.about")}
      actions={
        <Button
          variant="default"
          leftSection={<ArrowLeftRight size={14} />}
          disabled={!before || !after}
          onClick={swap}
        >
          {t("compare.swap")}
        </Button>
      }
    >
      <div className={classes.sides}>
        <SelectionFields
          side="a"
          hosts={hosts.data ?? []}
          selection={before}
          host={beforeHost}
          onChange={({ host, range }) =>
            set({ base: host === afterHost ? "" : host, c: range }, { push: true })
          }
        />
        <SelectionFields
          side="b"
          hosts={hosts.data ?? []}
          selection={after}
          host={afterHost}
          onChange={({ host, range }) => set({ host, b: range }, { push: true })}
        />
      </div>
      {failed ? (
        <ErrorState error={failed.error} retry={() => void failed.refetch()} />
      ) : hosts.data?.length === 0 ? (
        <EmptyState title={t("whatChanged.noHosts")}>{t("whatChanged.noHostsText")}</EmptyState>
      ) : afterRuns && !hasRuns && !state.b ? (
        <EmptyState title={t("timeline.empty")}>{t("whatChanged.noRunsText")}</EmptyState>
      ) : after && beforeRuns && !before ? (
        <EmptyState title={t("whatChanged.noBefore")}>{t("whatChanged.noBeforeText")}</EmptyState>
      ) : (
        <QueryContent query={query} skeleton={<BlockSkeleton height={560} />}>
          {(data) => (
            <div className={query.isPlaceholderData ? classes.waiting : undefined}>
              {before && after && <Results data={data} before={before} after={after} />}
            </div>
          )}
        </QueryContent>
      )}
    </Page>
  );
}

interface ResultsProps {
  data: Differences;
  before: Selection;
  after: Selection;
}

function Results({ data, before, after }: ResultsProps) {
  const { t } = useTranslation();
  const [{ tab }, set] = useUrlState(TAB_FIELDS);
  const configuration = data.facts_total + data.settings_total;
  const counts = {
    series: data.series_changed,
    functions: undefined,
    configuration,
    events: data.events_total,
  };
  return (
    <>
      <Tabs
        label={t("whatChanged.title")}
        tabs={TABS.map((id) => ({ id, text: t(`whatChanged.${id}`), count: counts[id] }))}
        value={tab}
        onChange={(id, isKey) => set({ tab: id }, { push: !isKey })}
      />
      {tab === "series" && <SeriesPanel data={data} before={before} after={after} />}
      {tab === "functions" && <Functions before={before} after={after} />}
      {tab === "configuration" && (
        <Panel flush>
          {configuration === 0 ? (
            <EmptyState title={t("whatChanged.noConfiguration")} />
          ) : (
            <ConfigurationTable data={data} />
          )}
        </Panel>
      )}
      {tab === "events" && (
        <Panel flush>
          {data.events.length === 0 ? (
            <EmptyState title={t("whatChanged.noEvents")} />
          ) : (
            <EventsTable data={data} />
          )}
        </Panel>
      )}
    </>
  );
}

function SeriesPanel({ data, before, after }: ResultsProps) {
  const { t } = useTranslation();
  const missing = [data.before, data.after].find((side) => side.series === 0);
  return (
    <Panel flush>
      {missing ? (
        <EmptyState title={t("whatChanged.noData", { host: missing.host.name })}>
          {t("whatChanged.noDataText")}
        </EmptyState>
      ) : data.series.length === 0 ? (
        <EmptyState title={t("whatChanged.noSeries")}>
          {t("whatChanged.noSeriesText", { count: data.series_equal })}
        </EmptyState>
      ) : (
        <SeriesTable data={data} before={before} after={after} />
      )}
      <UnmatchedSeries data={data} />
    </Panel>
  );
}

/** Links to profile comparisons, which test each function for significance. */
function Functions({ before, after }: { before: Selection; after: Selection }) {
  const { t } = useTranslation();
  const first = useProfiles({ host: before.host });
  const second = useProfiles({ host: after.host });
  const a = findBestProfile(first.data ?? [], before.range);
  const b = findBestProfile(second.data ?? [], after.range);
  const missing = [!a && "A", !b && "B"].filter(Boolean).join(", ");
  return (
    <Panel>
      {!first.data || !second.data ? (
        <BlockSkeleton height={32} />
      ) : a && b ? (
        <ButtonLink
          variant="default"
          to="/compare"
          search={{
            ap: a.id,
            a: formatRange(before.range),
            bp: b.id,
            b: formatRange(after.range),
          }}
        >
          {t("timeline.compare")}
        </ButtonLink>
      ) : (
        <p className="dim">{t("whatChanged.noProfile", { sides: missing })}</p>
      )}
    </Panel>
  );
}
