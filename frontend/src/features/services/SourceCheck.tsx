import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { Service } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { post } from "../../lib/api";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./services.module.css";

/** Button that sends every query to the saved Prometheus, and a table of the results. */
export function SourceCheck({ service }: { service: Service }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const check = useMutation({
    mutationFn: () => post(`/services/${service.id}/check`),
  });
  return (
    <div className={classes.check}>
      <div className={classes.buttons}>
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          {t("services.check")}
        </Button>
        <span className="dim">{t("services.checkText")}</span>
      </div>
      <ErrorLine error={check.error} />
      {check.data && (
        <DataTable stack label={t("services.check")}>
          <thead>
            <tr>
              <th>{t("services.query")}</th>
              <th>{t("services.result")}</th>
              <th className="right">{t("services.series")}</th>
              <th className="right">{t("services.points")}</th>
              <th className="right">{t("services.last")}</th>
            </tr>
          </thead>
          <tbody>
            {check.data.results.map((queryResult) => (
              <tr key={queryResult.name}>
                <td title={queryResult.query}>{queryResult.name}</td>
                <td>
                  <StatusIcon tone={queryResult.failure ? "bad" : "ok"}>
                    {queryResult.failure ? formatMessage(queryResult.failure) : t("services.ok")}
                  </StatusIcon>
                </td>
                <td className="num right">{queryResult.series}</td>
                <td className="num right">{queryResult.points}</td>
                <td className="num right">
                  {queryResult.last === null ? "–" : Number(queryResult.last.toPrecision(4))}
                </td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      )}
    </div>
  );
}
