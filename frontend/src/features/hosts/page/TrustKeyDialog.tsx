import { Button, Checkbox, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Host } from "../../../client/models";
import { Dialog } from "../../../components/Dialog";
import { ErrorLine, RowSkeleton } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { post, put } from "../../../lib/api";
import { queryKeys, useAction } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { fingerprintCommand } from "../forms/AddHostPage";
import classes from "../forms/forms.module.css";

/** Dialog that replaces the trusted host key. It requires a reason, which is stored in the audit log. */
export function TrustKeyDialog({ host, onClose }: { host: Host; onClose: () => void }) {
  const { t } = useTranslation();
  const [reason, setReason] = useState("");
  const [sure, setSure] = useState(false);
  const scan = useQuery({
    queryKey: ["scan-key", host.id],
    queryFn: () =>
      post("/host-key-scans", {
        address: host.address,
        port: host.port,
        ...(host.jump_host ? { jump_host_id: host.jump_host.id } : {}),
      }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const pin = useAction(
    (fingerprint: string) => put(`/hosts/${host.id}/host-key`, { fingerprint, reason: reason.trim() }),
    [queryKeys.hosts],
    onClose,
  );
  const same = scan.data?.fingerprint === host.host_key?.fingerprint;
  return (
    <Dialog onClose={onClose} title={t("trustKey.title", { name: host.name })} size="lg">
      <div className={classes.stack}>
        <div>
          <span className="dim">{t("trustKey.old")}</span>
          <div className={classes.fingerprint}>{host.host_key?.fingerprint ?? t("trustKey.none")}</div>
        </div>
        <div>
          <span className="dim">{t("trustKey.now")}</span>
          {scan.isPending && <RowSkeleton rows={1} />}
          {scan.data && <div className={classes.fingerprint}>{scan.data.fingerprint}</div>}
          <ErrorLine error={scan.error} />
        </div>
        {scan.data && same && <p className={classes.note}>{t("trustKey.same")}</p>}
        {scan.data && !same && (
          <>
            <p className={classes.note}>{t("trustKey.warning")}</p>
            <CommandLine text={fingerprintCommand(scan.data.type)} prompt />
            <TextInput
              label={t("trustKey.reason")}
              description={t("trustKey.audited")}
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
            />
            <Checkbox
              size="sm"
              label={t("trustKey.sure")}
              checked={sure}
              onChange={(event) => setSure(event.currentTarget.checked)}
            />
            <ErrorLine error={pin.error} />
            <div className={classes.buttons}>
              <Button
                color="red"
                disabled={!sure || reason.trim().length < 3}
                loading={pin.isPending}
                onClick={() => pin.mutate(scan.data.fingerprint)}
              >
                {t("trustKey.do")}
              </Button>
              <Button variant="default" onClick={onClose}>
                {t("action.cancel")}
              </Button>
            </div>
          </>
        )}
      </div>
    </Dialog>
  );
}
