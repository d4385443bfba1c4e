import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { FleetHost, FleetPeers, PeerGroup, PeerMeasure } from "../../client/types";
import { Panel } from "../../components/Page";
import { Empty } from "../../components/States";
import { ageMs, roughAge, zText } from "../../core/fleet";
import { quantity } from "../../core/format";
import { usePick } from "../../lib/i18n";
import { useUrlState } from "../../lib/urlState";
import classes from "./Fleet.module.css";
import { FIELDS } from "./fields";
import { Strip } from "./Strip";

/** As many odd ones are named beside a strip; the strip itself shows all. */
const NAMED = 5;
const LEAST = 5;

interface Props {
  peers: FleetPeers;
  onOpen: (host: string, rule: string) => void;
}

/** Hosts that do the same, and in which numbers one of them is unlike the others. */
export function PeersView({ peers, onOpen }: Props) {
  const { t } = useTranslation();
  const [, set] = useUrlState(FIELDS);
  if (peers.groups.length === 0) return <Empty title={t("fleet.noGroups")}>{t("fleet.noGroupsText")}</Empty>;
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
      {peers.without > 0 && (
        <p className="dim">{t("fleet.withoutCount", { count: peers.without, label: peers.label })}</p>
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
  const hosts = new Map(group.hosts.map((one) => [one.id, one]));
  const fresh = group.hosts.length - group.stale;
  return (
    <Panel
      title={`${label}=${group.value}`}
      aside={
        <>
          <span>{t("hosts.count", { count: group.hosts.length })}</span>
          {group.stale > 0 && <span>{t("fleet.tooOld", { count: group.stale })}</span>}
          {group.agree > 0 && <span>{t("fleet.agree", { count: group.agree })}</span>}
        </>
      }
    >
      {fresh < LEAST ? (
        <p className={classes.quietLine}>{t("fleet.tooFew", { count: fresh, least: LEAST })}</p>
      ) : group.measures.length === 0 ? (
        <p className={classes.quietLine}>{t("fleet.alike")}</p>
      ) : (
        <ol className={classes.measures}>
          {group.measures.map((one) => (
            <Measure
              key={one.measure}
              of={one}
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
  const pick = usePick();
  const [state] = useUrlState(FIELDS);
  const alone = state.measure === of.measure;
  const odd = of.standings.filter((one) => one.unlike);
  const named = alone ? of.standings : odd.slice(0, NAMED);
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
      <Strip
        dots={of.standings.map((one) => ({ ...one, name: hosts.get(one.host_id)?.name ?? "" }))}
        median={of.median}
        unit={of.unit}
        label={pick(of.title)}
        onOpen={(host) => onOpen(host, of.rule)}
      />
      <ul className={classes.odd} data-alone={alone || undefined}>
        {named.map((one) => {
          const host = hosts.get(one.host_id);
          const age =
            host && ageMs(host, { rule: of.rule, state: "quiet", severity: "info", look: one.look }, now);
          return (
            <li key={one.host_id}>
              <button
                type="button"
                data-unlike={one.unlike || undefined}
                onClick={() => onOpen(one.host_id, of.rule)}
              >
                <span>{host?.name}</span> <span className="num">{quantity(one.value, of.unit)}</span>{" "}
                <span className="num dim" title={t("fleet.zMeaning")}>
                  z {zText(one.z)}
                </span>{" "}
                <span className={classes.seen}>{age === undefined ? "" : roughAge(age)}</span>
              </button>
            </li>
          );
        })}
        {!alone && odd.length > NAMED && (
          <li className="dim">{t("fleet.more", { count: odd.length - NAMED })}</li>
        )}
      </ul>
    </li>
  );
}
