import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { FactChange, FactChanges, FactSeen } from "../../client/events";
import { Fold } from "../../components/Fold";
import { Grid } from "../../components/Grid";
import { Panel } from "../../components/Page";
import { BlockSkeleton, Empty, Loaded } from "../../components/States";
import { bytes } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { get } from "../../lib/queries";
import { choiceField, useUrlState } from "../../lib/urlState";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import { Cited } from "../../renderers/findings/Place";
import classes from "./HostPage.module.css";

const DAYS = ["1", "7", "30", "365"] as const;
const FIELDS = { changed: choiceField([...DAYS], "30") };
const DAY_NS = 86_400e9;
const SHOWN = 200;

/** A host against its own earlier facts: what was read with two values, between which times, where both stand. */
export function HostChanges({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const [view, setView] = useUrlState(FIELDS);
  const query = useQuery({
    queryKey: ["hosts", hostId, "changes", view.changed],
    queryFn: () =>
      get<FactChanges>(`/hosts/${hostId}/changes`, {
        since_ns: Math.floor((Date.now() * 1e6 - Number(view.changed) * DAY_NS) / 1e9) * 1e9,
      }),
    staleTime: 60_000,
  });
  const count = (query.data?.changes_total ?? 0) + (query.data?.logged_total ?? 0);
  return (
    <Panel flush>
      <Fold
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
          {query.data && <Known changes={query.data} />}
        </div>
        <Loaded query={query} skeleton={<BlockSkeleton height={120} />}>
          {(told) => <Told told={told} />}
        </Loaded>
      </Fold>
    </Panel>
  );
}

/** Since when anything is known: what lies before is not "unchanged". */
function Known({ changes }: { changes: FactChanges }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  if (changes.first_ns === null || changes.last_ns === null) return null;
  const late = changes.first_ns > changes.since_ns;
  return (
    <span className={late ? classes.unknown : "dim"}>
      {t(late ? "changes.knownOnly" : "changes.known", {
        count: changes.facts,
        first: time.instant(changes.first_ns, 1e9),
        last: time.instant(changes.last_ns, 1e9),
      })}
    </span>
  );
}

function Told({ told }: { told: FactChanges }) {
  const { t } = useTranslation();
  if (told.facts === 0 && told.logged.length === 0)
    return <Empty title={t("changes.nothingKnown")}>{t("changes.nothingKnownText")}</Empty>;
  if (told.changes.length + told.logged.length === 0)
    return <Empty title={t("changes.nothing")}>{t("changes.nothingText")}</Empty>;
  return (
    <>
      {told.changes.length > 0 && <Facts changes={told.changes} total={told.changes_total} />}
      {told.logged.length > 0 && <Logged told={told} />}
    </>
  );
}

function Facts({ changes, total }: { changes: readonly FactChange[]; total: number }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <>
      <Grid stack label={t("changes.facts")}>
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
          {changes.slice(0, SHOWN).map((one) => (
            <tr key={`${one.source} ${one.name} ${one.after.at_ns}`}>
              <td className="num">
                {time.instant(one.before.at_ns, 1e9)} – {time.instant(one.after.at_ns, 1e9)}
              </td>
              <td className="mono">{one.name}</td>
              <td>
                <Value change={one} seen={one.before} />
              </td>
              <td>
                <Value change={one} seen={one.after} />
              </td>
              <td>
                <Source id={one.source} />
              </td>
            </tr>
          ))}
        </tbody>
      </Grid>
      {total > SHOWN && <p className={classes.rest}>{t("changes.more", { count: total - SHOWN })}</p>}
    </>
  );
}

function Source({ id }: { id: string }) {
  const { t } = useTranslation();
  const names = useNames();
  return <span className="dim">{id === "preflight" ? t("changes.preflight") : names.collector(id)}</span>;
}

/** Amounts are stored as they were read, and shown with their unit. */
function withUnit(name: string, value: string): string {
  if (!/^\d+$/.test(value)) return value;
  if (name.endsWith("_bytes")) return bytes(Number(value));
  if (name.endsWith("_kb")) return bytes(Number(value) * 1024);
  return value;
}

function Value({ change, seen }: { change: FactChange; seen: FactSeen }) {
  const { t } = useTranslation();
  const { name, source } = change;
  const shown = seen.value === null ? t("changes.gone") : withUnit(name, seen.value);
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
    <Cited place={place} label={shown} className={seen.value === null ? "dim" : (classes.factValue ?? "")}>
      {shown}
    </Cited>
  );
}

function Logged({ told }: { told: FactChanges }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const time = useTimeFormat();
  return (
    <Grid stack label={t("changes.logged")}>
      <thead>
        <tr>
          <th>{t("changes.at")}</th>
          <th>{t("changes.logged")}</th>
        </tr>
      </thead>
      <tbody>
        {told.logged.slice(0, SHOWN).map((one) => (
          <tr key={one.id}>
            <td className="num">{time.instant(one.t_ns, 1e9)}</td>
            <td>
              <Cited
                place={
                  one.artifact_id
                    ? {
                        run: one.run_id ?? "",
                        collector: "changes",
                        artifact: one.artifact_id,
                        part: "",
                        lines: one.line ? [one.line] : [],
                      }
                    : undefined
                }
                label={sentence(one.title)}
                className={classes.factValue ?? ""}
              >
                {sentence(one.title)}
              </Cited>
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}
