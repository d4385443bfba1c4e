import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Collapsible } from "../../../components/Collapsible";
import { BlockSkeleton, EmptyState, QueryContent } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { DataTable } from "../../../components/tables/DataTable";
import { factText } from "../../../core/hosts/facts";
import { get } from "../../../lib/queries";
import { useMessage } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { choiceField, useUrlState } from "../../../lib/urlState";
import { CitedSource } from "../../../widgets/findings/CitationLink";
import type { FactChange, FactChanges, FactReading } from "../api";
import classes from "./HostPage.module.css";

const DAYS = ["1", "7", "30", "365"] as const;
const FIELDS = { changed: choiceField([...DAYS], "30") };
const DAY_NS = 86_400e9;
const MAX_ROWS = 200;

/** Changed facts of a host since a time: old and new value, time of both readings, and their sources. */
export function HostChanges({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const [view, setView] = useUrlState(FIELDS);
  const query = useQuery({
    queryKey: ["hosts", hostId, "changes", view.changed],
    queryFn: () =>
      get(`/hosts/${hostId}/changes`, {
        since_ns: Math.floor((Date.now() * 1e6 - Number(view.changed) * DAY_NS) / 1e9) * 1e9,
      }),
    staleTime: 60_000,
  });
  const count = (query.data?.changes_total ?? 0) + (query.data?.logged_total ?? 0);
  return (
    <Panel flush>
      <Collapsible
        id="changed"
        title={t("changes.title")}
        hint={query.data && (query.data.facts > 0 ? t("changes.count", { count }) : t("context.hintNone"))}
      >
        <div className={classes.since}>
          <SegmentedControl
            size="xs"
            aria-label={t("changes.since")}
            data={DAYS.map((value) => ({ value, label: t("changes.days", { count: Number(value) }) }))}
            value={view.changed}
            onChange={(value) => setView({ changed: value as (typeof DAYS)[number] })}
          />
          {query.data && <RecordedRange changes={query.data} />}
        </div>
        <QueryContent query={query} skeleton={<BlockSkeleton height={120} />}>
          {(data) => <ChangesContent data={data} />}
        </QueryContent>
      </Collapsible>
    </Panel>
  );
}

/** Time range of the recorded facts, because values before its start are unknown, not "unchanged". */
function RecordedRange({ changes }: { changes: FactChanges }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  if (changes.first_ns === null || changes.last_ns === null) return null;
  const late = changes.first_ns > changes.since_ns;
  return (
    <span className={late ? classes.unknown : "dim"}>
      {t(late ? "changes.factCountSince" : "changes.factCount", {
        count: changes.facts,
        first: time.instant(changes.first_ns, 1e9),
        last: time.instant(changes.last_ns, 1e9),
      })}
    </span>
  );
}

function ChangesContent({ data }: { data: FactChanges }) {
  const { t } = useTranslation();
  if (data.facts === 0 && data.logged.length === 0)
    return <EmptyState title={t("changes.noFacts")}>{t("changes.noFactsText")}</EmptyState>;
  if (data.changes.length + data.logged.length === 0)
    return <EmptyState title={t("changes.nothing")}>{t("changes.nothingText")}</EmptyState>;
  return (
    <>
      {data.changes.length > 0 && <ChangedFactsTable changes={data.changes} total={data.changes_total} />}
      {data.logged.length > 0 && <LoggedChangesTable data={data} />}
    </>
  );
}

function ChangedFactsTable({ changes, total }: { changes: readonly FactChange[]; total: number }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <>
      <DataTable stack label={t("changes.facts")}>
        <thead>
          <tr>
            <th>{t("changes.between")}</th>
            <th>{t("changes.fact")}</th>
            <th>{t("changes.before")}</th>
            <th>{t("changes.after")}</th>
            <th>{t("changes.readBy")}</th>
          </tr>
        </thead>
        <tbody>
          {changes.slice(0, MAX_ROWS).map((factChange) => (
            <tr key={`${factChange.source} ${factChange.name} ${factChange.after.at_ns}`}>
              <td className="num">
                {time.instant(factChange.before.at_ns, 1e9)} – {time.instant(factChange.after.at_ns, 1e9)}
              </td>
              <td className="mono">{factChange.name}</td>
              <td>
                <FactValue change={factChange} seen={factChange.before} />
              </td>
              <td>
                <FactValue change={factChange} seen={factChange.after} />
              </td>
              <td>
                <SourceName id={factChange.source} />
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      {total > MAX_ROWS && (
        <p className={classes.omittedCount}>{t("changes.more", { count: total - MAX_ROWS })}</p>
      )}
    </>
  );
}

function SourceName({ id }: { id: string }) {
  const { t } = useTranslation();
  const names = useNames();
  return <span className="dim">{id === "preflight" ? t("changes.preflight") : names.collector(id)}</span>;
}

function FactValue({ change, seen }: { change: FactChange; seen: FactReading }) {
  const { t } = useTranslation();
  const { name, source } = change;
  const text = seen.value === null ? t("changes.absent") : factText(name, seen.value);
  const place = seen.artifact_id
    ? {
        run: seen.run_id ?? "",
        collector: source,
        artifact: seen.artifact_id,
        part: "",
        lines: seen.line ? [seen.line] : [],
      }
    : undefined;
  return (
    <CitedSource place={place} className={seen.value === null ? "dim" : (classes.factValue ?? "")}>
      {text}
    </CitedSource>
  );
}

function LoggedChangesTable({ data }: { data: FactChanges }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const time = useTimeFormat();
  return (
    <DataTable stack label={t("changes.logged")}>
      <thead>
        <tr>
          <th>{t("changes.at")}</th>
          <th>{t("changes.logged")}</th>
        </tr>
      </thead>
      <tbody>
        {data.logged.slice(0, MAX_ROWS).map((loggedChange) => (
          <tr key={loggedChange.id}>
            <td className="num">{time.instant(loggedChange.t_ns, 1e9)}</td>
            <td>
              <CitedSource
                place={
                  loggedChange.artifact_id
                    ? {
                        run: loggedChange.run_id ?? "",
                        collector: "changes",
                        artifact: loggedChange.artifact_id,
                        part: "",
                        lines: loggedChange.line ? [loggedChange.line] : [],
                      }
                    : undefined
                }
                className={classes.factValue ?? ""}
              >
                {formatMessage(loggedChange.title)}
              </CitedSource>
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
