import { Modal, type ModalProps } from "@mantine/core";
import { useTranslation } from "../lib/text/useTranslation";

/** Render a modal dialog. Esc and the close button close it. */
export function Dialog({ children, ...props }: Omit<ModalProps, "opened" | "closeButtonProps">) {
  const { t } = useTranslation();
  return (
    <Modal opened closeButtonProps={{ "aria-label": t("action.close") }} {...props}>
      {children}
    </Modal>
  );
}
