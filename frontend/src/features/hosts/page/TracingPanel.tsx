import { Switch } from "@mantine/core";
import type { Host } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { StatusIcon } from "../../../components/StatusIcon";
import { patch, queryKeys, useAction, usePermission } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./HostPage.module.css";

/** Setting that allows ptrace collectors, which stop processes, on a host; only an admin can change it. */
export function TracingPanel({ host }: { host: Host }) {
  const { t } = useTranslation();
  const can = usePermission();
  const allow = useAction(
    (allows_ptrace: boolean) => patch(`/hosts/${host.id}`, { allows_ptrace }),
    [queryKeys.hosts],
  );
  return (
    <Panel
      title={t("tracing.title")}
      headerExtra={
        <StatusIcon tone={host.allows_ptrace ? "warn" : "off"}>
          {t(host.allows_ptrace ? "tracing.allowed" : "tracing.denied")}
        </StatusIcon>
      }
    >
      <div className={classes.tracing}>
        <p>
          {t("tracing.text")} {!can("host.edit") && t("tracing.onlyAdmin")}
        </p>
        {can("host.edit") && (
          <Switch
            label={t("tracing.allow")}
            checked={allow.isPending ? allow.variables : host.allows_ptrace}
            disabled={allow.isPending}
            onChange={(event) => allow.mutate(event.currentTarget.checked)}
          />
        )}
        <ErrorLine error={allow.error} />
      </div>
    </Panel>
  );
}
