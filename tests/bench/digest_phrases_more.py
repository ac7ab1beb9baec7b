"""More ways to say values, for development: updates without any word of change, and statements in unusual order.

The same form as ``digest_phrases.py``. What is not here (rules, tasks, small talk) comes from there; nouns and templates
of values are these alone, so that a session of this pool lives on linking two wordings of one thing.
"""

from __future__ import annotations

from typing import Final

from digest_phrases import DEVELOPMENT

_VALUES: Final = {
    "en": """
fact: | {n} | {v} |
fact: {v} <- {n}
fact: Dana keeps {v} as {n}, just so you know.
old: The {n}? {v}.
old: {n}: {v}
old: A {n} of {v} should do for the first pass.
old: I was told that {v} is the {n}.
old: Take {v} for the {n} and see how that goes.
old: | {n} | {v} |
old: Please wire up the report page with {v} as its {n}, then send me the link.
new: {n}: {v}
new: {n} = {v}
new: {n} -> {v}
new: | {n} | {v} |
new: {v} is what the {n} should be.
new: The {n} is {v}.
new: I talked to Dana and the {n} is {v}.
new: Finance wants {v} for the {n}.
new: {v} for the {n}, please.
new: As for the {n}, {v} it is.
new: Go with {v} as the {n}.
new: The vendor confirmed {v} as our {n}.
new: For the {n} I would like to see {v}.
new: The {n} has to read {v}.
new: We landed on {v} for the {n}.
new: Let the {n} be {v}.
new: Regarding the {n}: {v}
new: {v} (that is the {n})
new: Mail from legal: the {n} they signed says {v}.
noun: preview port|port
noun: batch size|number
noun: scratch directory|path
noun: firmware build|version
noun: outage ticket|ticket
noun: attachment cap|size
noun: replica host|host
noun: catering budget|money
noun: escalation contact|person
noun: max parallel jobs|number
noun: session lifetime|number
noun: backup location|path
noun: travel allowance|money
""",
    "de": """
fact: | {n} | {v} |
fact: Als {n} führt Dana {v}, nur zur Info.
old: {n}? {v}.
old: {n}: {v}
old: Mit {v} als {n} kommen wir erst mal hin.
old: Man sagte mir, {v} sei {n}.
old: Bau die Berichtsseite mit {v} als {n} und schick mir den Link.
old: | {n} | {v} |
new: {n}: {v}
new: {n} = {v}
new: {n} -> {v}
new: | {n} | {v} |
new: {v} soll {n} sein.
new: {n} ist {v}.
new: Ich habe mit Dana gesprochen, {n} ist {v}.
new: Die Buchhaltung will {v} für {n}.
new: Bitte {v} als {n}.
new: Was {n} angeht: {v}.
new: Der Lieferant hat {v} als {n} bestätigt.
new: Als {n} trägst du {v} ein.
new: {v} lautet {n}.
new: Bei {n} landen wir bei {v}.
noun: Vorschauport|port
noun: Stapelgröße|number
noun: Arbeitsordner|path
noun: Firmwarestand|version
noun: Ausfallticket|ticket
noun: Anhangsgrenze|size
noun: Replikathost|host
noun: Verpflegungsbudget|money
noun: Eskalationskontakt|person
noun: Sicherungsort|path
""",
    "fr": """
fact: | {n} | {v} |
fact: Pour info, Dana garde {v} comme {n}.
old: Et {n} ? {v}.
old: {n} : {v}
old: Avec {v} pour {n}, ça ira au début.
old: On m'a dit que {n}, c'est {v}.
old: Monte la page de rapport avec {v} comme {n} et envoie-moi le lien.
old: | {n} | {v} |
new: {n} : {v}
new: {n} = {v}
new: {n} -> {v}
new: | {n} | {v} |
new: {v}, voilà {n}.
new: {n}, c'est {v}.
new: J'ai parlé à Dana, {n} est {v}.
new: La compta veut {v} pour {n}.
new: Pour {n}, mets {v}.
new: Quant à {n} : {v}.
new: Le fournisseur a confirmé {v} comme {n}.
new: {v} sera {n}.
new: Il me faut {v} pour {n}.
noun: le port d'aperçu|port
noun: la taille de lot|number
noun: le répertoire de travail|path
noun: la version du micrologiciel|version
noun: le ticket de panne|ticket
noun: la limite des pièces jointes|size
noun: le serveur répliqué|host
noun: le budget traiteur|money
noun: le contact d'escalade|person
noun: l'emplacement des sauvegardes|path
""",
    "es": """
fact: | {n} | {v} |
fact: Para que lo sepas, Dana tiene {v} como {n}.
old: ¿Y {n}? {v}.
old: {n}: {v}
old: Con {v} para {n} basta al principio.
old: Me dijeron que {n} es {v}.
old: Monta la página de informes con {v} como {n} y mándame el enlace.
old: | {n} | {v} |
new: {n}: {v}
new: {n} = {v}
new: {n} -> {v}
new: | {n} | {v} |
new: {v}, ese es {n}.
new: {n} es {v}.
new: Hablé con Dana, {n} es {v}.
new: Contabilidad quiere {v} para {n}.
new: Para {n} pon {v}.
new: En cuanto a {n}: {v}.
new: El proveedor confirmó {v} como {n}.
new: {v} será {n}.
new: Necesito {v} para {n}.
noun: el puerto de vista previa|port
noun: el tamaño del lote|number
noun: el directorio de trabajo|path
noun: la versión del firmware|version
noun: el ticket de avería|ticket
noun: el tope de adjuntos|size
noun: el servidor réplica|host
noun: el presupuesto de comidas|money
noun: el contacto de guardia|person
noun: la ubicación de copias|path
""",
    "zh": """
fact: | {n} | {v} |
fact: 达娜那边{n}记的是{v}。
old: {n}？{v}。
old: {n}：{v}
old: 开始阶段{n}给{v}就够了。
old: 听说{v}是{n}。
old: 报表页面按{v}这个{n}来做，做完把链接发我。
old: | {n} | {v} |
new: {n}：{v}
new: {n}={v}
new: {n}→{v}
new: | {n} | {v} |
new: {v}才是{n}。
new: {n}是{v}。
new: 我问过达娜，{n}是{v}。
new: 财务要{n}为{v}。
new: {n}请填{v}。
new: 至于{n}，{v}。
new: 供应商确认{n}为{v}。
new: {n}定在{v}。
new: {v}作为{n}。
noun: 预览端口|port
noun: 批量大小|number
noun: 临时目录|path
noun: 固件版本|version
noun: 停机工单|ticket
noun: 附件上限|size
noun: 副本主机|host
noun: 餐饮预算|money
noun: 值班联系人|person
noun: 备份位置|path
noun: 并发数|number
""",
    "ja": """
fact: | {n} | {v} |
fact: ダナさんの記録では{n}が{v}です。
old: {n}？{v}です。
old: {n}：{v}
old: 最初は{n}を{v}で十分です。
old: {v}が{n}だと聞きました。
old: レポート画面を{n}{v}で作って、リンクを送ってください。
old: | {n} | {v} |
new: {n}：{v}
new: {n}={v}
new: {n}→{v}
new: | {n} | {v} |
new: {v}が{n}です。
new: {n}は{v}です。
new: ダナさんに聞いたら{n}は{v}だそうです。
new: 経理の希望で{n}は{v}。
new: {n}には{v}を入れて。
new: {n}については{v}。
new: 業者の確認では{n}が{v}。
new: {v}を{n}として使ってください。
noun: プレビュー用ポート|port
noun: バッチサイズ|number
noun: 作業ディレクトリ|path
noun: ファームウェア版|version
noun: 停止チケット|ticket
noun: 添付上限|size
noun: 複製ホスト|host
noun: 食事予算|money
noun: 当番の連絡先|person
noun: バックアップ先|path
""",
    "ko": """
fact: | {n} | {v} |
fact: 참고로 다나 쪽 {n} 기록은 {v}예요.
old: {n}? {v}.
old: {n}: {v}
old: 처음에는 {n} {v}면 충분해요.
old: {v}가 {n}라고 들었어요.
old: 보고서 화면을 {n} {v}로 만들고 링크를 보내 주세요.
old: | {n} | {v} |
new: {n}: {v}
new: {n} = {v}
new: {n} → {v}
new: | {n} | {v} |
new: {v}가 {n}예요.
new: {n}는 {v}입니다.
new: 다나에게 물어보니 {n}는 {v}래요.
new: 회계팀은 {n}로 {v}를 원해요.
new: {n}에는 {v}를 넣어 주세요.
new: {n} 건은 {v}로 갑시다.
new: 업체가 {n}를 {v}로 확인해 줬어요.
new: {v}를 {n}로 써 주세요.
noun: 미리보기 포트|port
noun: 배치 크기|number
noun: 작업 디렉터리|path
noun: 펌웨어 버전|version
noun: 중단 티켓|ticket
noun: 첨부 한도|size
noun: 복제 호스트|host
noun: 식사 예산|money
noun: 당직 연락처|person
noun: 백업 위치|path
""",
    "ru": """
fact: | {n} | {v} |
fact: К слову, у Даны {n} записан как {v}.
old: {n}? {v}.
old: {n}: {v}
old: Для начала хватит {v} ({n}).
old: Мне сказали, что {v} — это {n}.
old: Сделай страницу отчёта, {n} — {v}, и пришли ссылку.
old: | {n} | {v} |
new: {n}: {v}
new: {n} = {v}
new: {n} -> {v}
new: | {n} | {v} |
new: {v} — вот {n}.
new: {n} — {v}.
new: Я говорил с Даной, {n} — {v}.
new: Бухгалтерия хочет {v}, это {n}.
new: {n} ставь {v}.
new: Что касается {n}: {v}.
new: Поставщик подтвердил: {n} {v}.
new: Возьми {v}, это {n}.
noun: порт предпросмотра|port
noun: размер пачки|number
noun: рабочий каталог|path
noun: версия прошивки|version
noun: тикет простоя|ticket
noun: предел вложений|size
noun: хост реплики|host
noun: бюджет питания|money
noun: контакт дежурного|person
noun: место копий|path
""",
}

_OWN: Final = ("fact: ", "old: ", "new: ", "noun: ")
MORE: Final = {
    language: "\n".join([line for line in DEVELOPMENT[language].strip().split("\n") if not line.startswith(_OWN)])
    + "\n"
    + text.strip()
    for language, text in _VALUES.items()
}
