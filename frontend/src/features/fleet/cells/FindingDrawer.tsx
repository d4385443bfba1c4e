import { Button, Drawer } from "@mantine/core";
import { Camera, Stethoscope } from "lucide-react";
import type { RunFindings } from "../../../client/models";
import { BlockSkeleton, EmptyState, QueryContent } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { RelativeTime } from "../../../components/text/RelativeTime";
import type { VerdictState } from "../../../components/VerdictIcon";
import { sortBySeverity } from "../../../core/text/figures";
import { useOpenDialog } from "../../../lib/dialogs";
import { usePermission, useRunFindings } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { FindingRow } from "../../../widgets/findings/FindingRow";
import type { FleetFinding, FleetHost } from "../api";
import classes from "../Fleet.module.css";

interface Props {
  /** Undefined while closed. The drawer stays mounted, so that the focus returns to its cell. */
  host: FleetHost | undefined;
  title: string;
  /** The rules of the cell. */
  about: ReadonlySet<string>;
  /** Finding of the cell; the drawer loads the findings of its run. */
  finding: FleetFinding | undefined;
  onClose: () => void;
}

/** Details of a cell: every finding of its rules in the run, with numbers linked to their lines. */
export function FindingDrawer({ host, title, about, finding, onClose }: Props) {
  const { t } = useTranslation();
  return (
    <Drawer
      opened={host !== undefined}
      onClose={onClose}
      position="right"
      size="min(60rem, 100vw)"
      title={
        <span className={classes.drawerTitle}>
          {host?.name} · {title}
        </span>
      }
      closeButtonProps={{ "aria-label": t("action.close") }}
    >
      {host && <FindingSources host={host} about={about} finding={finding} />}
    </Drawer>
  );
}

function FindingSources({ host, about, finding }: Pick<Props, "about" | "finding"> & { host: FleetHost }) {
  const { t } = useTranslation();
  const names = useNames();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const run = host.runs[finding?.run_index ?? 0];
  return (
    <>
      <div className={classes.drawerHead}>
        {run && (
          <span>
            <Link to="/runs/$runId" params={{ runId: run.run_id }} hash="findings">
              {t("findings.ofRun", { plan: names.plan(run.plan) })}
            </Link>{" "}
            <RelativeTime at={run.at} />
          </span>
        )}
        <Link to="/hosts/$hostId" params={{ hostId: host.id }}>
          {t("fleet.toHost")}
        </Link>
        {can("capture.light") && host.state === "active" && (
          <>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Camera size={13} />}
              onClick={() => openDialog("capture", [host.id])}
            >
              {t("fleet.captureThis")}
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Stethoscope size={13} />}
              onClick={() => openDialog("diagnose", [host.id])}
            >
              {t("diagnose.button")}
            </Button>
          </>
        )}
      </div>
      {run && finding ? (
        <FindingText runId={run.run_id} about={about} />
      ) : (
        <EmptyState title={t("fleet.state.absent")}>
          {t("fleet.absentText", { count: about.size })}
        </EmptyState>
      )}
    </>
  );
}

function FindingText({ runId, about }: { runId: string; about: ReadonlySet<string> }) {
  const { t } = useTranslation();
  return (
    <QueryContent query={useRunFindings(runId, false)} skeleton={<BlockSkeleton height={240} />}>
      {(data) => {
        const rows = listFindings(data, about);
        return rows.length > 0 ? (
          <div>
            {rows.map(([look, finding], i) => (
              <FindingRow key={`${finding.rule}${i}`} finding={finding} verdict={look} />
            ))}
          </div>
        ) : (
          <EmptyState title={t("fleet.notInRun")} />
        );
      }}
    </QueryContent>
  );
}

/** The findings of a cell in a run: matches first, then inconclusive, not matched, and rules not evaluated. */
function listFindings(
  data: RunFindings,
  about: ReadonlySet<string>,
): [VerdictState, RunFindings["findings"][number]][] {
  const selectRules = (all: RunFindings["findings"]) =>
    sortBySeverity(all.filter((finding) => about.has(finding.rule)));
  const matched = selectRules(data.findings.filter((finding) => finding.state === "matched"));
  return [
    ...matched.map((finding): [VerdictState, typeof finding] => [
      finding.strength === "context" ? "context" : "supports",
      finding,
    ]),
    ...selectRules(data.ranking.inconclusive).map((finding): [VerdictState, typeof finding] => [
      "inconclusive",
      finding,
    ]),
    ...selectRules(data.not_matched).map((finding): [VerdictState, typeof finding] => ["refutes", finding]),
    ...selectRules(data.not_evaluated).map((finding): [VerdictState, typeof finding] => ["absent", finding]),
  ];
}
