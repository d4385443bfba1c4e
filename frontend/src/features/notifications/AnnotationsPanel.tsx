import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { GrafanaAnnotation } from "../../client/triggers";
import type { List } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { ErrorLine } from "../../components/States";
import { get, post, useAction } from "../../lib/queries";
import { Delivery, DeliveryHead } from "./Delivery";
import { ANNOTATIONS, CHANNELS } from "./data";
import classes from "./triggers.module.css";

const EVERY_MS = 5_000;

/** What was to be drawn in a Grafana and never arrived there; nothing where everything did. */
export function AnnotationsPanel() {
  const { t } = useTranslation();
  const dead = useQuery({
    queryKey: ANNOTATIONS,
    queryFn: () => get<List<GrafanaAnnotation>>("/grafana-annotations", { state: "dead", limit: 100 }),
    refetchInterval: EVERY_MS,
  });
  const again = useAction(
    (id: string) => post<GrafanaAnnotation>(`/grafana-annotations/${id}/again`, {}),
    [ANNOTATIONS, CHANNELS],
  );
  const rows = dead.data?.items ?? [];
  if (dead.error) return <ErrorLine error={dead.error} />;
  if (rows.length === 0) return <ErrorLine error={again.error} />;
  return (
    <Panel flush title={t("notices.annotations")}>
      <ErrorLine error={again.error} />
      <Grid stack label={t("notices.annotations")}>
        <thead>
          <tr>
            <th>{t("notices.about")}</th>
            <th>{t("notices.annotation")}</th>
            <DeliveryHead />
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.id}>
              <td>
                <About one={one} />
              </td>
              <td className={classes.why}>{one.text || <span className="dim">–</span>}</td>
              <Delivery one={one} again={again} />
            </tr>
          ))}
        </tbody>
      </Grid>
    </Panel>
  );
}

function About({ one }: { one: GrafanaAnnotation }) {
  const { t } = useTranslation();
  const word = t(`notices.abouts.${one.about}`);
  const said = one.removed ? t("notices.removed", { what: word }) : word;
  if (one.about === "event") return said;
  return one.about === "capture" ? (
    <Link to="/captures/$captureId" params={{ captureId: one.about_id }}>
      {said}
    </Link>
  ) : (
    <Link to="/incidents/$incidentId" params={{ incidentId: one.about_id }}>
      {said}
    </Link>
  );
}
