import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { QueryResult, Service } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Mark } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { post } from "../../lib/api";
import { useSentence } from "../../lib/i18n";
import classes from "./services.module.css";

/** Asks the saved Prometheus every query now, and says of each what came back. */
export function SourceCheck({ service }: { service: Service }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const check = useMutation({
    mutationFn: () => post<{ results: QueryResult[] }>(`/services/${service.id}/check`),
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
        <Grid stack label={t("services.check")}>
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
            {check.data.results.map((one) => (
              <tr key={one.name}>
                <td title={one.query}>{one.name}</td>
                <td>
                  <Mark tone={one.failure ? "bad" : "ok"}>
                    {one.failure ? sentence(one.failure) : t("services.works")}
                  </Mark>
                </td>
                <td className="num right">{one.series}</td>
                <td className="num right">{one.points}</td>
                <td className="num right">{one.last === null ? "–" : Number(one.last.toPrecision(4))}</td>
              </tr>
            ))}
          </tbody>
        </Grid>
      )}
    </div>
  );
}
