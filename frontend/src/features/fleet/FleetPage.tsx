import { SegmentedControl } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { FleetFindingsHost, FleetHost, FleetUseHost, FleetWord } from "../../client/types";
import { ButtonLink } from "../../components/Link";
import { Mark } from "../../components/Mark";
import { Page, Panel } from "../../components/Page";
import { BlockSkeleton, Empty, Loaded } from "../../components/States";
import { useFleetFindings, useFleetUse, useMay } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import { Chosen } from "./Chosen";
import { FindingDrawer } from "./FindingDrawer";
import classes from "./Fleet.module.css";
import { FIELDS, VIEWS, type View } from "./fields";
import { MatrixView } from "./MatrixView";
import { PeersView } from "./PeersView";
import { Tools } from "./Tools";
import { UseView } from "./UseView";
import { type Rules, rulesAbout, useNarrowed, usePeers, useShown } from "./useFleet";
import { useTitle } from "./useTitle";
import { wordOf } from "./word";

const NO_HOSTS: readonly FleetHost[] = [];
const NO_RULES: Rules = {};
const wordsOfUse = (host: FleetUseHost): readonly FleetWord[] => Object.values(host.cells);
const wordsOfFindings = (host: FleetFindingsHost): readonly FleetWord[] => host.fired;

/** Up to 500 hosts on one screen: what is wrong where, who is unlike the others, what the sick ones share. */
export function FleetPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [state, set] = useUrlState(FIELDS);
  const { view, has } = state;
  const use = useNarrowed(useFleetUse, has, view === "use");
  const findings = useNarrowed(useFleetFindings, has, view === "findings");
  const peers = usePeers(view === "peers");
  const inUse = useShown(use.data?.hosts, wordsOfUse);
  const inFindings = useShown(findings.data?.hosts, wordsOfFindings);
  const inPeers = useMemo(() => peers.data?.groups.flatMap((one) => one.hosts), [peers.data]);
  const known = { use: use.data?.hosts, findings: findings.data?.hosts, peers: inPeers }[view];
  const shown = { use: inUse, findings: inFindings, peers: inPeers ?? NO_HOSTS }[view];
  const leftOut = { use, findings, peers }[view].data?.left_out ?? 0;
  const chosen = useMemo(() => new Set(state.pick), [state.pick]);
  const choose = useCallback((pick: readonly string[]) => set({ pick }), [set]);
  const openCell = useCallback(
    (host: string, column: string) => set({ cell: [host, column] }, { push: true }),
    [set],
  );
  const openHost = useCallback(
    (hostId: string) => void navigate({ to: "/hosts/$hostId", params: { hostId } }),
    [navigate],
  );
  const grid = { chosen, onChoose: choose, onOpen: openCell, onHost: openHost };
  return (
    <Page
      title={t("nav.fleet")}
      meta={<Counts hosts={shown} leftOut={leftOut} />}
      actions={<Chosen hosts={known ?? NO_HOSTS} shown={shown} chosen={chosen} onChoose={choose} />}
    >
      <div className={classes.views}>
        <SegmentedControl
          size="xs"
          value={view}
          onChange={(next) => set({ view: next as View, cell: [] }, { push: true })}
          data={VIEWS.map((one) => ({ value: one, label: t(`fleet.views.${one}`) }))}
          aria-label={t("fleet.view")}
        />
      </div>
      <Tools hosts={known ?? NO_HOSTS} labels={peers.data?.labels} usual={peers.data?.label} />
      {view === "use" && (
        <Loaded query={use} skeleton={<BlockSkeleton height={560} />}>
          {(fleet) =>
            shown.length === 0 ? (
              <Nobody any={fleet.hosts.length > 0} />
            ) : (
              <Panel flush>
                <UseView fleet={fleet} hosts={inUse} {...grid} />
              </Panel>
            )
          }
        </Loaded>
      )}
      {view === "findings" && (
        <Loaded query={findings} skeleton={<BlockSkeleton height={560} />}>
          {(fleet) =>
            shown.length === 0 ? (
              <Nobody any={fleet.hosts.length > 0} />
            ) : (
              <Panel flush>
                <MatrixView fleet={fleet} hosts={inFindings} {...grid} />
              </Panel>
            )
          }
        </Loaded>
      )}
      {view === "peers" && (
        <Loaded query={peers} skeleton={<BlockSkeleton height={560} />}>
          {(found) => <PeersView peers={found} onOpen={openCell} />}
        </Loaded>
      )}
      <OpenCell
        hosts={known ?? NO_HOSTS}
        rules={(view === "use" ? use.data?.rules : findings.data?.rules) ?? NO_RULES}
        word={(host, column) => {
          if (view === "use") return use.data?.hosts.find((one) => one.id === host)?.cells[column];
          if (view === "peers") return standingOf(peers.data, host, column);
          const row = findings.data?.hosts.find((one) => one.id === host);
          return row && wordOf(row, column);
        }}
      />
    </Page>
  );
}

/** A host among its peers as a word: which look its number is from. */
function standingOf(
  peers: ReturnType<typeof usePeers>["data"],
  host: string,
  rule: string,
): FleetWord | undefined {
  const measures = peers?.groups.flatMap((group) => group.measures).filter((one) => one.rule === rule) ?? [];
  const standing = measures.flatMap((one) => one.standings).find((one) => one.host_id === host);
  if (!standing) return undefined;
  const { value, look } = standing;
  return { rule, state: "quiet", severity: "info", value, threshold: null, subject: {}, subjects: 0, look };
}

interface OpenCellProps {
  hosts: readonly FleetHost[];
  rules: Rules;
  word: (host: string, column: string) => FleetWord | undefined;
}

/** The cell that the address names, opened. */
function OpenCell({ hosts, rules, word }: OpenCellProps) {
  const [{ cell }, set] = useUrlState(FIELDS);
  const title = useTitle(rules);
  const [hostId = "", column = ""] = cell;
  const host = hosts.find((one) => one.id === hostId);
  return (
    <FindingDrawer
      host={column === "" ? undefined : host}
      title={title(column)}
      about={rulesAbout(rules, column)}
      word={word(hostId, column)}
      onClose={() => set({ cell: [] })}
    />
  );
}

/** How many hosts there are, and how many are in which trouble. */
function Counts({ hosts, leftOut }: { hosts: readonly FleetHost[]; leftOut: number }) {
  const { t } = useTranslation();
  const count = (worst: FleetHost["worst"]) => hosts.filter((one) => one.worst === worst).length;
  const blind = hosts.filter((one) => one.looks.length === 0).length;
  const [critical, warned] = [count("critical"), count("warn")];
  return (
    <>
      <span className="num">{t("hosts.count", { count: hosts.length })}</span>
      {critical > 0 && <Mark tone="bad">{t("fleet.critical", { count: critical })}</Mark>}
      {warned > 0 && <Mark tone="warn">{t("fleet.warned", { count: warned })}</Mark>}
      {blind > 0 && <Mark tone="idle">{t("fleet.blind", { count: blind })}</Mark>}
      {leftOut > 0 && <span>{t("fleet.leftOut", { count: leftOut })}</span>}
    </>
  );
}

/** No host at all, or none that is meant. */
function Nobody({ any }: { any: boolean }) {
  const { t } = useTranslation();
  const may = useMay();
  if (any) return <Empty title={t("hosts.noMatch")} />;
  return (
    <Empty
      title={t("hosts.empty")}
      action={may("host.enrol") && <ButtonLink to="/hosts/new">{t("nav.addHost")}</ButtonLink>}
    >
      {t("hosts.emptyText")}
    </Empty>
  );
}
