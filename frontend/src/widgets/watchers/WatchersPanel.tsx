import { Button, Checkbox } from "@mantine/core";
import { Hourglass } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { useOpenDialog } from "../../lib/dialogs";
import { useMay } from "../../lib/queries";
import { useStandbys } from "./data";
import { StandbysTable } from "./StandbysTable";
import classes from "./standbys.module.css";

/** All that waits on hosts, or on one. */
export function StandbysPanel({ host }: { host?: string }) {
  const { t } = useTranslation();
  const may = useMay();
  const openDialog = useOpenDialog();
  const [over, setOver] = useState(false);
  const rows = useStandbys({ ...(host ? { host } : {}), ...(over ? { over } : {}) });
  const arm = may("armed.manage") && (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<Hourglass size={13} />}
      onClick={() => openDialog("arm", host ? [host] : [])}
    >
      {t("standbys.new")}
    </Button>
  );
  return (
    <Panel flush {...(host ? { title: t("standbys.title") } : {})}>
      <div className={classes.parts}>
        <Checkbox
          size="xs"
          label={t("standbys.withOver")}
          checked={over}
          onChange={(event) => setOver(event.currentTarget.checked)}
        />
        <span className={classes.apart}>{arm}</span>
      </div>
      <Loaded query={rows} skeleton={<RowSkeleton rows={2} height={29} />}>
        {(found) =>
          found.length > 0 ? (
            <StandbysTable rows={found} onHost={host !== undefined} />
          ) : (
            <Empty title={t("standbys.empty")}>{t("standbys.emptyText")}</Empty>
          )
        }
      </Loaded>
    </Panel>
  );
}
