import type { Service } from "../../client/models";
import { StatusIcon, Tag } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ServiceSource } from "./api";
import classes from "./services.module.css";

interface Props {
  services: readonly Service[];
  /** Undefined for users who may not edit services. */
  onEdit: ((id: string) => void) | undefined;
}

/** Return the URL, path or port of a source, or "" for no source. */
function sourceText(source: ServiceSource): string {
  if (source.kind === "prometheus") return source.url;
  if (source.kind === "access_log") return source.path;
  return source.kind === "accepts" ? String(source.port) : "";
}

/** Table of services; the last column lists the verdicts that will be inconclusive. */
export function ServicesTable({ services, onEdit }: Props) {
  const { t } = useTranslation();
  return (
    <DataTable stack label={t("services.title")}>
      <thead>
        <tr>
          <th>{t("services.name")}</th>
          <th>{t("services.selector")}</th>
          <th className="right">{t("services.hosts")}</th>
          <th>{t("services.locate")}</th>
          <th>{t("services.source")}</th>
          <th>{t("services.missing")}</th>
        </tr>
      </thead>
      <tbody>
        {services.map((service) => (
          <tr key={service.id}>
            <td>
              {onEdit ? (
                <button type="button" className={classes.name} onClick={() => onEdit(service.id)}>
                  {service.name}
                </button>
              ) : (
                service.name
              )}
            </td>
            <td>
              <span className={classes.tags}>
                {Object.entries(service.selector).map(([name, value]) => (
                  <Tag key={name}>
                    {name}={value}
                  </Tag>
                ))}
              </span>
            </td>
            <td className="num right">{service.hosts}</td>
            <td className={classes.value}>
              {service.locate ? (
                t("services.locatedBy", {
                  kind: t(`services.locateKinds.${service.locate.kind}`),
                  value: service.locate.value,
                })
              ) : (
                <span className="dim">–</span>
              )}
            </td>
            <td className={classes.value}>
              {t(`services.sources.${service.source.kind}`)}{" "}
              <span className="mono dim">{sourceText(service.source)}</span>{" "}
              {service.proxy && <Tag title={t("services.sourceText.accepts")}>{t("services.proxy")}</Tag>}
            </td>
            <td>
              {service.missing.length > 0 ? (
                <StatusIcon tone="warn">
                  {service.missing.map((item) => t(`services.missingOf.${item}`)).join(", ")}
                </StatusIcon>
              ) : (
                <StatusIcon tone="ok">{t("services.complete")}</StatusIcon>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
