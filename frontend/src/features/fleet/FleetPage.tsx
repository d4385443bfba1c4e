import { SegmentedControl } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { BlockSkeleton, EmptyState, QueryContent } from "../../components/EmptyState";
import { ButtonLink } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { useFleetFindings, useFleetUse, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import type { FleetFinding, FleetFindingsHost, FleetHost, FleetUseHost } from "./api";
import { FindingDrawer } from "./cells/FindingDrawer";
import { ruleResult } from "./cells/ruleResult";
import { FilterBar } from "./FilterBar";
import classes from "./Fleet.module.css";
import { FIELDS, VIEWS, type View } from "./fields";
import { SelectionBar } from "./SelectionBar";
import { useColumnTitle } from "./useColumnTitle";
import { type Rules, rulesOfResource, useFilteredHosts, usePeers, useVisibleRows } from "./useFleet";
import { MatrixView } from "./views/MatrixView";
import { PeersView } from "./views/PeersView";
import { UseView } from "./views/UseView";

const NO_HOSTS: readonly FleetHost[] = [];
const NO_RULES: Rules = {};
const findingsOfUse = (host: FleetUseHost): readonly FleetFinding[] => Object.values(host.cells);
const findingsOfMatrix = (host: FleetFindingsHost): readonly FleetFinding[] => host.matched;

/** Views of up to 500 hosts: USE grid, outliers among peers, and matrix of findings. */
export function FleetPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [state, set] = useUrlState(FIELDS);
  const { view, has } = state;
  const use = useFilteredHosts(useFleetUse, has, view === "use");
  const findings = useFilteredHosts(useFleetFindings, has, view === "findings");
  const peers = usePeers(view === "peers");
  const inUse = useVisibleRows(use.data?.hosts, findingsOfUse);
  const inFindings = useVisibleRows(findings.data?.hosts, findingsOfMatrix);
  const inPeers = useMemo(() => peers.data?.groups.flatMap((group) => group.hosts), [peers.data]);
  const known = { use: use.data?.hosts, findings: findings.data?.hosts, peers: inPeers }[view];
  const visible = { use: inUse, findings: inFindings, peers: inPeers ?? NO_HOSTS }[view];
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
      meta={<SeverityCounts hosts={visible} leftOut={leftOut} />}
      actions={<SelectionBar hosts={known ?? NO_HOSTS} visible={visible} chosen={chosen} onChoose={choose} />}
    >
      <div className={classes.views}>
        <SegmentedControl
          size="xs"
          value={view}
          onChange={(next) => set({ view: next as View, cell: [] }, { push: true })}
          data={VIEWS.map((view) => ({ value: view, label: t(`fleet.views.${view}`) }))}
          aria-label={t("fleet.view")}
        />
      </div>
      <FilterBar hosts={known ?? NO_HOSTS} labels={peers.data?.labels} defaultLabel={peers.data?.label} />
      {view === "use" && (
        <QueryContent query={use} skeleton={<BlockSkeleton height={560} />}>
          {(fleet) =>
            visible.length === 0 ? (
              <NoHosts any={fleet.hosts.length > 0} />
            ) : (
              <Panel flush>
                <UseView fleet={fleet} hosts={inUse} {...grid} />
              </Panel>
            )
          }
        </QueryContent>
      )}
      {view === "findings" && (
        <QueryContent query={findings} skeleton={<BlockSkeleton height={560} />}>
          {(fleet) =>
            visible.length === 0 ? (
              <NoHosts any={fleet.hosts.length > 0} />
            ) : (
              <Panel flush>
                <MatrixView fleet={fleet} hosts={inFindings} {...grid} />
              </Panel>
            )
          }
        </QueryContent>
      )}
      {view === "peers" && (
        <QueryContent query={peers} skeleton={<BlockSkeleton height={560} />}>
          {(data) => <PeersView peers={data} onOpen={openCell} />}
        </QueryContent>
      )}
      <OpenCell
        hosts={known ?? NO_HOSTS}
        rules={(view === "use" ? use.data?.rules : findings.data?.rules) ?? NO_RULES}
        result={(host, column) => {
          if (view === "use") return use.data?.hosts.find((item) => item.id === host)?.cells[column];
          if (view === "peers") return findingOfPeer(peers.data, host, column);
          const row = findings.data?.hosts.find((item) => item.id === host);
          return row && ruleResult(row, column);
        }}
      />
    </Page>
  );
}

/** Return the value of a host among its peers as a finding; undefined if the rule has no value for the host. */
function findingOfPeer(
  peers: ReturnType<typeof usePeers>["data"],
  host: string,
  rule: string,
): FleetFinding | undefined {
  const measures =
    peers?.groups.flatMap((group) => group.measures).filter((measure) => measure.rule === rule) ?? [];
  const peer = measures.flatMap((measure) => measure.hosts).find((item) => item.host_id === host);
  if (!peer) return undefined;
  const { value, run_index } = peer;
  return {
    rule,
    state: "not_matched",
    severity: "info",
    value,
    threshold: null,
    subject: {},
    subjects: 0,
    run_index,
  };
}

interface OpenCellProps {
  hosts: readonly FleetHost[];
  rules: Rules;
  result: (host: string, column: string) => FleetFinding | undefined;
}

/** The details of the cell in the URL. */
function OpenCell({ hosts, rules, result }: OpenCellProps) {
  const [{ cell }, set] = useUrlState(FIELDS);
  const title = useColumnTitle(rules);
  const [hostId = "", column = ""] = cell;
  const host = hosts.find((host) => host.id === hostId);
  return (
    <FindingDrawer
      host={column === "" ? undefined : host}
      title={title(column)}
      about={rulesOfResource(rules, column)}
      finding={result(hostId, column)}
      onClose={() => set({ cell: [] })}
    />
  );
}

/** The number of hosts by their worst severity. */
function SeverityCounts({ hosts, leftOut }: { hosts: readonly FleetHost[]; leftOut: number }) {
  const { t } = useTranslation();
  const count = (worst: FleetHost["worst"]) => hosts.filter((host) => host.worst === worst).length;
  const unmeasured = hosts.filter((host) => host.runs.length === 0).length;
  const [critical, warned] = [count("critical"), count("warn")];
  return (
    <>
      <span className="num">{t("hosts.count", { count: hosts.length })}</span>
      {critical > 0 && <StatusIcon tone="bad">{t("fleet.critical", { count: critical })}</StatusIcon>}
      {warned > 0 && <StatusIcon tone="warn">{t("fleet.warned", { count: warned })}</StatusIcon>}
      {unmeasured > 0 && <StatusIcon tone="idle">{t("fleet.unmeasured", { count: unmeasured })}</StatusIcon>}
      {leftOut > 0 && <span>{t("fleet.leftOut", { count: leftOut })}</span>}
    </>
  );
}

/** Empty state: no hosts, or no hosts that match the filter. */
function NoHosts({ any }: { any: boolean }) {
  const { t } = useTranslation();
  const can = usePermission();
  if (any) return <EmptyState title={t("hosts.noMatch")} />;
  return (
    <EmptyState
      title={t("hosts.empty")}
      action={can("host.add") && <ButtonLink to="/hosts/new">{t("nav.addHost")}</ButtonLink>}
    >
      {t("hosts.emptyText")}
    </EmptyState>
  );
}
