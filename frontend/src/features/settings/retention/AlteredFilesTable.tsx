import { Link } from "../../../components/Link";
import { DataTable } from "../../../components/tables/DataTable";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { AlteredFile } from "../api";

/** Stored files that do not match their SHA-256, with the captures that they belong to. */
export function AlteredFilesTable({ files }: { files: AlteredFile[] }) {
  const { t } = useTranslation();
  return (
    <DataTable stack label={t("storage.altered")}>
      <thead>
        <tr>
          <th>SHA-256</th>
          <th>{t("storage.reason")}</th>
          <th>{t("storage.since")}</th>
          <th>{t("storage.captures")}</th>
        </tr>
      </thead>
      <tbody>
        {files.map((file) => (
          <tr key={file.sha256}>
            <td className="num" title={file.sha256}>
              {file.sha256.slice(0, 16)}
            </td>
            <td>{t(`storage.reasons.${file.reason}`)}</td>
            <td>
              <RelativeTime at={file.altered_at} />
            </td>
            <td>
              {file.captures.map((capture, n) => (
                <span key={capture.id}>
                  {n > 0 && ", "}
                  <Link to="/captures/$captureId" params={{ captureId: capture.id }}>
                    #{capture.number} {capture.plan}
                  </Link>
                </span>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
