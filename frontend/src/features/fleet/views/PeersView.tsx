import { Button } from "@mantine/core";
import type { FleetPeers } from "../../../client/models";
import { EmptyState } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { formatRobustZ, formatRoughAge, resultAgeMs } from "../../../core/hosts/fleet";
import { formatQuantity } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import type { FleetHost, PeerGroup, PeerMeasure } from "../api";
import classes from "../Fleet.module.css";
import { FIELDS } from "../fields";
import { PeerStrip } from "./PeerStrip";

/** Number of outliers listed by name next to a strip, which contains all hosts. */
const MAX_NAMED_OUTLIERS = 5;
const MIN_HOSTS = 5;

interface Props {
  peers: FleetPeers;
  onOpen: (host: string, rule: string) => void;
}

/** Groups of peers, with the measures that have an outlier. */
export function PeersView({ peers, onOpen }: Props) {
  const { t } = useTranslation();
  const [, set] = useUrlState(FIELDS);
  if (peers.groups.length === 0)
    return <EmptyState title={t("fleet.noGroups")}>{t("fleet.noGroupsText")}</EmptyState>;
  return (
    <>
      {peers.groups.map((group) => (
        <PeerGroupSection
          key={group.value}
          group={group}
          label={peers.label}
          now={peers.at}
          onOpen={onOpen}
          onMeasure={(measure) => set({ measure }, { push: true })}
        />
      ))}
      {peers.unlabeled_hosts > 0 && (
        <p className="dim">{t("fleet.withoutCount", { count: peers.unlabeled_hosts, label: peers.label })}</p>
      )}
    </>
  );
}

interface PeerGroupSectionProps {
  group: PeerGroup;
  label: string;
  now: string;
  onOpen: Props["onOpen"];
  onMeasure: (measure: string) => void;
}

function PeerGroupSection({ group, label, now, onOpen, onMeasure }: PeerGroupSectionProps) {
  const { t } = useTranslation();
  const hosts = new Map(group.hosts.map((host) => [host.id, host]));
  const recent = group.hosts.length - group.stale_hosts;
  return (
    <Panel
      title={`${label}=${group.value}`}
      headerExtra={
        <>
          <span>{t("hosts.count", { count: group.hosts.length })}</span>
          {group.stale_hosts > 0 && <span>{t("fleet.tooOld", { count: group.stale_hosts })}</span>}
          {group.agreeing_measures > 0 && <span>{t("fleet.agree", { count: group.agreeing_measures })}</span>}
        </>
      }
    >
      {recent < MIN_HOSTS ? (
        <p className={classes.note}>{t("fleet.tooFew", { count: recent, least: MIN_HOSTS })}</p>
      ) : group.measures.length === 0 ? (
        <p className={classes.note}>{t("fleet.noOutlier")}</p>
      ) : (
        <ol className={classes.measures}>
          {group.measures.map((measure) => (
            <MeasureRow
              key={measure.measure}
              measure={measure}
              hosts={hosts}
              now={now}
              onOpen={onOpen}
              onMeasure={onMeasure}
            />
          ))}
        </ol>
      )}
    </Panel>
  );
}

interface MeasureRowProps extends Pick<PeerGroupSectionProps, "now" | "onOpen" | "onMeasure"> {
  measure: PeerMeasure;
  hosts: ReadonlyMap<string, FleetHost>;
}

function MeasureRow({ measure, hosts, now, onOpen, onMeasure }: MeasureRowProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [state] = useUrlState(FIELDS);
  const alone = state.measure === measure.measure;
  const outliers = measure.hosts.filter((item) => item.is_outlier);
  const named = alone ? measure.hosts : outliers.slice(0, MAX_NAMED_OUTLIERS);
  return (
    <li className={classes.measure}>
      <div className={classes.measureHead}>
        <Button
          size="compact-sm"
          variant="subtle"
          className={classes.measureName ?? ""}
          aria-pressed={alone}
          onClick={() => onMeasure(alone ? "" : measure.measure)}
          title={measure.measure}
        >
          {localize(measure.title)}
        </Button>
        <span className="dim">
          {t("fleet.median", {
            value: formatQuantity(measure.median, measure.unit),
            step: formatQuantity(measure.step, measure.unit),
          })}
        </span>
      </div>
      <PeerStrip
        dots={measure.hosts.map((item) => ({
          ...item,
          name: hosts.get(item.host_id)?.name ?? "",
        }))}
        median={measure.median}
        unit={measure.unit}
        label={localize(measure.title)}
        onOpen={(host) => onOpen(host, measure.rule)}
      />
      <ul className={classes.named} data-alone={alone || undefined}>
        {named.map((item) => {
          const host = hosts.get(item.host_id);
          const age =
            host &&
            resultAgeMs(
              host,
              { rule: measure.rule, state: "not_matched", severity: "info", run_index: item.run_index },
              now,
            );
          return (
            <li key={item.host_id}>
              <button
                type="button"
                data-outlier={item.is_outlier || undefined}
                onClick={() => onOpen(item.host_id, measure.rule)}
              >
                <span>{host?.name}</span>{" "}
                <span className="num">{formatQuantity(item.value, measure.unit)}</span>{" "}
                <span className="num dim" title={t("fleet.zMeaning")}>
                  z {formatRobustZ(item.z)}
                </span>{" "}
                <span className={classes.checked}>{age === undefined ? "" : formatRoughAge(age)}</span>
              </button>
            </li>
          );
        })}
        {!alone && outliers.length > MAX_NAMED_OUTLIERS && (
          <li className="dim">{t("fleet.more", { count: outliers.length - MAX_NAMED_OUTLIERS })}</li>
        )}
      </ul>
    </li>
  );
}
