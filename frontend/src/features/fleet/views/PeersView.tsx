import { Button } from "@mantine/core";
import type { FleetPeers } from "../../../client/models";
import { EmptyState } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { ageMs, roughAge, zText } from "../../../core/hosts/fleet";
import { quantity } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import type { FleetHost, PeerGroup, PeerMeasure } from "../api";
import classes from "../Fleet.module.css";
import { FIELDS } from "../fields";
import { PeerStrip } from "./PeerStrip";

/** Number of outliers listed by name next to a strip, which contains all hosts. */
const NAMED = 5;
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
        <Group
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

interface GroupProps {
  group: PeerGroup;
  label: string;
  now: string;
  onOpen: Props["onOpen"];
  onMeasure: (measure: string) => void;
}

function Group({ group, label, now, onOpen, onMeasure }: GroupProps) {
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
        <p className={classes.quietLine}>{t("fleet.tooFew", { count: recent, least: MIN_HOSTS })}</p>
      ) : group.measures.length === 0 ? (
        <p className={classes.quietLine}>{t("fleet.noOutlier")}</p>
      ) : (
        <ol className={classes.measures}>
          {group.measures.map((measure) => (
            <Measure
              key={measure.measure}
              of={measure}
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

interface MeasureProps extends Pick<GroupProps, "now" | "onOpen" | "onMeasure"> {
  of: PeerMeasure;
  hosts: ReadonlyMap<string, FleetHost>;
}

function Measure({ of, hosts, now, onOpen, onMeasure }: MeasureProps) {
  const { t } = useTranslation();
  const pick = useLocalized();
  const [state] = useUrlState(FIELDS);
  const alone = state.measure === of.measure;
  const outliers = of.hosts.filter((item) => item.is_outlier);
  const named = alone ? of.hosts : outliers.slice(0, NAMED);
  return (
    <li className={classes.measure}>
      <div className={classes.measureHead}>
        <Button
          size="compact-sm"
          variant="subtle"
          className={classes.measureName ?? ""}
          aria-pressed={alone}
          onClick={() => onMeasure(alone ? "" : of.measure)}
          title={of.measure}
        >
          {pick(of.title)}
        </Button>
        <span className="dim">
          {t("fleet.median", { value: quantity(of.median, of.unit), step: quantity(of.step, of.unit) })}
        </span>
      </div>
      <PeerStrip
        dots={of.hosts.map((item) => ({
          ...item,
          name: hosts.get(item.host_id)?.name ?? "",
        }))}
        median={of.median}
        unit={of.unit}
        label={pick(of.title)}
        onOpen={(host) => onOpen(host, of.rule)}
      />
      <ul className={classes.named} data-alone={alone || undefined}>
        {named.map((item) => {
          const host = hosts.get(item.host_id);
          const age =
            host &&
            ageMs(
              host,
              { rule: of.rule, state: "not_matched", severity: "info", run_index: item.run_index },
              now,
            );
          return (
            <li key={item.host_id}>
              <button
                type="button"
                data-outlier={item.is_outlier || undefined}
                onClick={() => onOpen(item.host_id, of.rule)}
              >
                <span>{host?.name}</span> <span className="num">{quantity(item.value, of.unit)}</span>{" "}
                <span className="num dim" title={t("fleet.zMeaning")}>
                  z {zText(item.z)}
                </span>{" "}
                <span className={classes.checked}>{age === undefined ? "" : roughAge(age)}</span>
              </button>
            </li>
          );
        })}
        {!alone && outliers.length > NAMED && (
          <li className="dim">{t("fleet.more", { count: outliers.length - NAMED })}</li>
        )}
      </ul>
    </li>
  );
}
