import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { usePermission, useServices } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { flagField, textField, useUrlState } from "../../lib/urlState";
import { ServiceDialog } from "./ServiceDialog";
import { ServicesTable } from "./ServicesTable";

const FIELDS = { edit: textField, add: flagField };

/** Services: labels of their hosts, and the sources of their load, errors and latency. */
export function ServicesPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const [view, setView] = useUrlState(FIELDS);
  const services = useServices();
  const manages = can("service.manage");
  const edited = services.data?.find((service) => service.id === view.edit);
  const declare = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ add: true })}>
      {t("services.add")}
    </Button>
  );
  return (
    <Page
      title={t("services.title")}
      meta={
        services.data && <span className="num">{t("services.count", { count: services.data.length })}</span>
      }
      actions={manages && services.data && services.data.length > 0 && declare}
    >
      <Panel flush>
        <QueryContent query={services} skeleton={<RowSkeleton rows={6} height={29} />}>
          {(rows) =>
            rows.length > 0 ? (
              <ServicesTable services={rows} onEdit={manages ? (edit) => setView({ edit }) : undefined} />
            ) : (
              <EmptyState title={t("services.empty")} action={manages && declare}>
                {t("services.emptyText")} {!manages && t("services.emptyViewer")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
      {manages && view.add && <ServiceDialog onClose={() => setView({ add: false })} />}
      {manages && edited && (
        <ServiceDialog key={edited.id} service={edited} onClose={() => setView({ edit: "" })} />
      )}
    </Page>
  );
}
