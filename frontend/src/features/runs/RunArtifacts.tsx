import { ActionIcon, Tooltip } from "@mantine/core";
import { Download } from "lucide-react";
import { CopyButton } from "../../components/fields/CopyButton";
import { Link } from "../../components/Link";
import { DataTable, rowLinkClass } from "../../components/tables/DataTable";
import { formatBytes } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ArtifactInfo } from "./api";

/** Table of the artifacts of a run with their digests. */
export function RunArtifacts({ artifacts }: { artifacts: readonly ArtifactInfo[] }) {
  const { t } = useTranslation();
  return (
    <DataTable stack label={t("run.artifacts")}>
      <thead>
        <tr>
          <th>{t("run.collector")}</th>
          <th>{t("run.part")}</th>
          <th className="right">{t("run.bytes")}</th>
          <th>SHA-256</th>
          <th aria-label={t("run.download")} />
        </tr>
      </thead>
      <tbody>
        {artifacts.map((a) => (
          <tr key={a.id} className={rowLinkClass()}>
            <td className="mono">{a.collector ?? "–"}</td>
            <td>
              <Link to="/artifacts/$artifactId" params={{ artifactId: a.id }}>
                {a.part}
              </Link>
              {a.complete === false && <span className="dim"> · {t("run.cut")}</span>}
            </td>
            <td className="right num">{formatBytes(a.size)}</td>
            <td>
              <span className="mono dim">{a.sha256.slice(0, 16)}…</span>
              <CopyButton text={a.sha256} />
            </td>
            <td className="right">
              <Tooltip label={t("run.download")}>
                <ActionIcon
                  component="a"
                  href={`/api/v1/artifacts/${a.id}/content`}
                  download
                  aria-label={`${t("run.download")}: ${a.part}`}
                >
                  <Download size={14} />
                </ActionIcon>
              </Tooltip>
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
