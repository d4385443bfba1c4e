import { useQuery } from "@tanstack/react-query";
import { ErrorLine } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { get, post, useAction } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { GrafanaAnnotation } from "./api";
import { ANNOTATIONS, CHANNELS } from "./api";
import { DeliveryHeader, DeliveryStatus } from "./DeliveryStatus";
import classes from "./notifications.module.css";

const POLL_MS = 5_000;

/** Table of failed Grafana annotations; empty if none failed. */
export function AnnotationsPanel() {
  const { t } = useTranslation();
  const failed = useQuery({
    queryKey: ANNOTATIONS,
    queryFn: () => get("/grafana-annotations", { state: "failed", limit: 100 }),
    refetchInterval: POLL_MS,
  });
  const again = useAction((id: string) => post(`/grafana-annotations/${id}/retry`), [ANNOTATIONS, CHANNELS]);
  const rows = failed.data?.items ?? [];
  if (failed.error) return <ErrorLine error={failed.error} />;
  if (rows.length === 0) return <ErrorLine error={again.error} />;
  return (
    <Panel flush title={t("notifications.annotations")}>
      <ErrorLine error={again.error} />
      <DataTable stack label={t("notifications.annotations")}>
        <thead>
          <tr>
            <th>{t("notifications.about")}</th>
            <th>{t("notifications.annotation")}</th>
            <DeliveryHeader />
          </tr>
        </thead>
        <tbody>
          {rows.map((grafanaAnnotation) => (
            <tr key={grafanaAnnotation.id}>
              <td>
                <AnnotationSubject annotation={grafanaAnnotation} />
              </td>
              <td className={classes.detail}>{grafanaAnnotation.text || <span className="dim">–</span>}</td>
              <DeliveryStatus delivery={grafanaAnnotation} retry={again} />
            </tr>
          ))}
        </tbody>
      </DataTable>
    </Panel>
  );
}

function AnnotationSubject({ annotation }: { annotation: GrafanaAnnotation }) {
  const { t } = useTranslation();
  const word = t(`notifications.abouts.${annotation.about}`);
  const text = annotation.is_deleted ? t("notifications.removed", { what: word }) : word;
  if (annotation.about === "event") return text;
  return annotation.about === "capture" ? (
    <Link to="/captures/$captureId" params={{ captureId: annotation.about_id }}>
      {text}
    </Link>
  ) : (
    <Link to="/incidents/$incidentId" params={{ incidentId: annotation.about_id }}>
      {text}
    </Link>
  );
}
