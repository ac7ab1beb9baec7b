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

_MIXED: Final = {
    "en": """
fact: Nobody remembers why, but our {n} has been {v} for years.
fact: Found it in the wiki: {n} {v}.
old: Assume {v} for the {n}.
old: The {n} they gave me is {v}.
old: As far as I know the {n} is {v}.
old: Please prepare everything with {n} {v}; details follow.
old: We'll go with {v} for the {n}.
old: Could you plan the week around a {n} of {v}?
new: The {n} went up to {v} this morning.
new: Just heard back, {n} {v}.
new: Since this morning the {n} reads {v}.
new: Please treat {v} as the {n}.
new: Where I said {o} for the {n}, read {v}.
new: {o} is history, the {n} is {v}.
new: The {n} I gave you was outdated, {v} is the one.
new: I misread the {n}: it says {v}.
new: They signed off on {v} as our {n}.
new: Everybody else already uses {v} as the {n}.
new: Swap the {n} {o} for {v}.
new: With the {n} at {v} we are safe.
new: Sorry, {n} {v}.
noun: quota|number
noun: timeout|number
noun: budget|money
noun: admin port|port
noun: report folder|path
noun: driver version|version
noun: case number|ticket
noun: mail limit|size
noun: mirror host|host
noun: duty officer|person
noun: drop location|path
noun: printing allowance|money
""",
    "de": """
fact: Seit Jahren ist {n} {v}, keiner weiß warum.
old: Geh von {v} für {n} aus.
old: Soviel ich weiß, ist {n} {v}.
old: Bereite bitte alles mit {n} {v} vor.
old: Plane die Woche mit {n} {v}.
new: {n} steht seit heute früh bei {v}.
new: Eben erfahren, {n} {v}.
new: Behandle {v} als {n}.
new: {o} ist Geschichte, {n} ist {v}.
new: Da hatte ich mich verlesen, bei {n} steht {v}.
new: Alle anderen nehmen schon {v} als {n}.
new: Mit {n} {v} sind wir sicher.
new: Sorry, {n} {v}.
new: Freigegeben wurde {v} als {n}.
noun: Kontingent|number
noun: Zeitlimit|number
noun: Adminport|port
noun: Berichtsordner|path
noun: Treiberstand|version
noun: Vorgangsnummer|ticket
noun: Mailgrenze|size
noun: Spiegelhost|host
noun: Dienstleiter|person
noun: Druckbudget|money
""",
    "fr": """
fact: Depuis des années {n} est {v}, personne ne sait pourquoi.
old: Pars du principe que {n} est {v}.
old: Autant que je sache, {n} est {v}.
old: Prépare tout avec {n} {v}, la suite arrive.
old: On table sur {v} pour {n}.
new: Depuis ce matin {n} affiche {v}.
new: On vient de me dire : {n} {v}.
new: Considère {v} comme {n}.
new: {o}, c'est fini, {n} est {v}.
new: J'avais mal lu {n} : c'est {v}.
new: Tout le monde utilise déjà {v} comme {n}.
new: Avec {n} à {v}, on est tranquilles.
new: Pardon, {n} {v}.
new: Ils ont validé {v} comme {n}.
noun: le quota|number
noun: le délai|number
noun: le port d'administration|port
noun: le dossier des rapports|path
noun: la version du pilote|version
noun: le numéro de dossier|ticket
noun: la limite de courriel|size
noun: l'hôte miroir|host
noun: le responsable de garde|person
noun: le budget d'impression|money
""",
    "es": """
fact: Desde hace años {n} es {v}, nadie sabe por qué.
old: Supón que {n} es {v}.
old: Que yo sepa, {n} es {v}.
old: Prepáralo todo con {n} {v}, luego te cuento.
old: Contamos con {v} para {n}.
new: Desde esta mañana {n} marca {v}.
new: Me acaban de decir: {n} {v}.
new: Considera {v} como {n}.
new: {o} es historia, {n} es {v}.
new: Leí mal {n}: pone {v}.
new: Todos usan ya {v} como {n}.
new: Con {n} en {v} vamos seguros.
new: Perdón, {n} {v}.
new: Aprobaron {v} como {n}.
noun: la cuota|number
noun: el plazo|number
noun: el puerto de administración|port
noun: la carpeta de informes|path
noun: la versión del controlador|version
noun: el número de caso|ticket
noun: el límite de correo|size
noun: el host espejo|host
noun: el jefe de guardia|person
noun: el presupuesto de impresión|money
""",
    "zh": """
fact: 多年来{n}一直是{v}，没人知道原因。
old: 假设{n}是{v}。
old: 据我所知{n}是{v}。
old: 请按{n}{v}准备好一切。
old: 我们打算{n}用{v}。
new: 今早{n}到了{v}。
new: 刚得到消息，{n}{v}。
new: 请把{v}当作{n}。
new: {o}是老黄历了，{n}是{v}。
new: 我看错了{n}，上面写的是{v}。
new: 大家都已经用{v}做{n}了。
new: {n}在{v}就稳妥了。
new: 抱歉，{n}{v}。
new: 他们批准了{v}作为{n}。
noun: 配额|number
noun: 超时|number
noun: 管理端口|port
noun: 报告文件夹|path
noun: 驱动版本|version
noun: 案件编号|ticket
noun: 邮件上限|size
noun: 镜像主机|host
noun: 值班主管|person
noun: 打印预算|money
""",
    "ja": """
fact: 何年も前から{n}は{v}で、理由は誰も知りません。
old: {n}は{v}と仮定して。
old: 私の知る限り{n}は{v}です。
old: {n}{v}で全部準備しておいてください。
old: {n}は{v}でいきましょう。
new: 今朝から{n}は{v}になっています。
new: さっき聞きました、{n}{v}。
new: {v}を{n}として扱って。
new: {o}はもう過去の話、{n}は{v}です。
new: {n}を読み間違えました、{v}と書いてあります。
new: みんなもう{n}に{v}を使っています。
new: {n}が{v}なら安心です。
new: すみません、{n}{v}。
new: {n}として{v}が承認されました。
noun: 割当|number
noun: タイムアウト|number
noun: 管理ポート|port
noun: 報告フォルダ|path
noun: ドライバ版|version
noun: 案件番号|ticket
noun: メール上限|size
noun: ミラーホスト|host
noun: 当直責任者|person
noun: 印刷予算|money
""",
    "ko": """
fact: 몇 년째 {n}는 {v}인데 이유는 아무도 몰라요.
old: {n}는 {v}라고 가정해.
old: 제가 알기로 {n}는 {v}입니다.
old: {n} {v}로 다 준비해 주세요.
old: {n}는 {v}로 하죠.
new: 오늘 아침부터 {n}는 {v}입니다.
new: 방금 들었는데 {n} {v}.
new: {v}를 {n}로 봐 주세요.
new: {o}는 옛날 얘기고 {n}는 {v}예요.
new: {n}를 잘못 읽었네요, {v}라고 써 있어요.
new: 다들 벌써 {n}로 {v}를 써요.
new: {n}가 {v}면 안심이죠.
new: 미안, {n} {v}.
new: {n}로 {v}가 승인됐어요.
noun: 할당량|number
noun: 제한 시간|number
noun: 관리 포트|port
noun: 보고서 폴더|path
noun: 드라이버 버전|version
noun: 사건 번호|ticket
noun: 메일 한도|size
noun: 미러 호스트|host
noun: 당직 책임자|person
noun: 인쇄 예산|money
""",
    "ru": """
fact: Уже много лет {n} — {v}, никто не знает почему.
old: Считай, что {n} — {v}.
old: Насколько я знаю, {n} — {v}.
old: Подготовь всё, {n} {v}, детали потом.
old: Рассчитываем на {v} ({n}).
new: С утра {n} показывает {v}.
new: Только что сообщили: {n} {v}.
new: Считай {v} за {n}.
new: {o} — это уже история, {n} — {v}.
new: Я неверно прочёл {n}: там {v}.
new: Все уже используют {v} как {n}.
new: Если {n} {v}, мы в безопасности.
new: Прости, {n} {v}.
new: Одобрили {v} как {n}.
noun: квота|number
noun: таймаут|number
noun: порт администратора|port
noun: папка отчётов|path
noun: версия драйвера|version
noun: номер дела|ticket
noun: лимит почты|size
noun: зеркальный хост|host
noun: дежурный начальник|person
noun: бюджет печати|money
""",
}

_ODD: Final = {
    "en": """
fact: The {n} in the contract is {v}.
fact: {v}. That is our {n}.
old: Initial {n}: {v}
old: To begin with, {v} for the {n}.
old: {n} -> {v} (from the kickoff notes)
old: Could you try it with a {n} of {v}?
old: Draft the plan; the {n} is {v}, the rest is up to you.
new: Final {n}: {v}
new: Could you use {v} as the {n}?
new: I'd rather have {v} as the {n}.
new: The {n} must be {v}.
new: The client insists on {v} for the {n}.
new: Don't use {o} for the {n}; {v} is what we want.
new: About the {n}. {v}.
new: {n} (revised): {v}
new: My bad, {n} {v}
new: It is {v}, the {n} I mean.
new: The real {n} is {v}.
new: Only {v} works as {n}.
new: Everything points to {v} being the {n}.
noun: disk quota|size
noun: login error|error
noun: build failure|error
noun: ticket owner|person
noun: gateway port|port
noun: cache lifetime|number
noun: landing folder|path
noun: schema revision|version
noun: bus host|host
noun: prize money|money
noun: change request|ticket
""",
    "de": """
fact: {n} im Vertrag: {v}.
old: Vorläufig {v} für {n}.
old: Kannst du es mit {v} als {n} versuchen?
old: Entwirf den Plan, {n} ist {v}, der Rest liegt bei dir.
new: Könntest du {v} als {n} nehmen?
new: {n} muss {v} sein.
new: Der Kunde besteht auf {v} für {n}.
new: Zu {n}. {v}.
new: {n} (überarbeitet): {v}
new: Mein Fehler, {n} {v}
new: Nur {v} geht als {n}.
new: Am Ende wurde es {v} für {n}.
noun: Plattenkontingent|size
noun: Anmeldefehler|error
noun: Baufehler|error
noun: Verantwortlicher|person
noun: Gatewayport|port
noun: Landeordner|path
noun: Schemastand|version
noun: Preisgeld|money
noun: Änderungsantrag|ticket
""",
    "fr": """
fact: Au contrat, {n} est {v}.
old: Provisoirement, {v} pour {n}.
old: Tu peux essayer avec {v} pour {n} ?
old: Rédige le plan, {n} est {v}, le reste est libre.
new: Pourrais-tu prendre {v} comme {n} ?
new: {n} doit être {v}.
new: Le client insiste sur {v} pour {n}.
new: À propos, {n}. {v}.
new: {n} (révisé) : {v}
new: Au temps pour moi, {n} {v}
new: Seul {v} convient pour {n}.
new: En fin de compte {v} pour {n}.
noun: le quota disque|size
noun: l'erreur de connexion|error
noun: l'échec de compilation|error
noun: le responsable du ticket|person
noun: le port de passerelle|port
noun: le dossier d'arrivée|path
noun: la révision du schéma|version
noun: la dotation|money
noun: la demande de changement|ticket
""",
    "es": """
fact: En el contrato {n} es {v}.
old: De momento {v} para {n}.
old: ¿Puedes probar con {v} para {n}?
old: Redacta el plan, {n} es {v}, lo demás es cosa tuya.
new: ¿Podrías usar {v} como {n}?
new: {n} debe ser {v}.
new: El cliente insiste en {v} para {n}.
new: Sobre {n}. {v}.
new: {n} (revisado): {v}
new: Culpa mía, {n} {v}
new: Solo {v} sirve para {n}.
new: Al final {v} para {n}.
noun: la cuota de disco|size
noun: el error de acceso|error
noun: el fallo de compilación|error
noun: el dueño del ticket|person
noun: el puerto de la pasarela|port
noun: la carpeta de llegada|path
noun: la revisión del esquema|version
noun: el premio|money
noun: la petición de cambio|ticket
""",
    "zh": """
fact: 合同里{n}是{v}。
old: 初始{n}：{v}
old: 能不能先用{v}当{n}试试？
old: 你来写方案，{n}是{v}，其他随你。
new: 最终{n}：{v}
new: 能把{v}当{n}用吗？
new: {n}必须是{v}。
new: 客户坚持{n}要{v}。
new: 关于{n}。{v}。
new: {n}（修订）：{v}
new: 我的错，{n}{v}
new: 只有{v}能做{n}。
noun: 磁盘配额|size
noun: 登录错误|error
noun: 构建失败原因|error
noun: 工单负责人|person
noun: 网关端口|port
noun: 落地目录|path
noun: 表结构版本|version
noun: 奖金|money
noun: 变更单|ticket
""",
    "ja": """
fact: 契約書では{n}は{v}です。
old: 当初の{n}：{v}
old: {n}を{v}で試してもらえますか？
old: 計画を書いて、{n}は{v}、あとは任せます。
new: 最終的な{n}：{v}
new: {n}に{v}を使ってもらえますか？
new: {n}は{v}でなければなりません。
new: 客先は{n}を{v}と言い張っています。
new: {n}の件。{v}。
new: {n}（改訂）：{v}
new: 私のミスです、{n}{v}
new: {n}に使えるのは{v}だけです。
noun: ディスク割当|size
noun: ログインエラー|error
noun: ビルド失敗|error
noun: 担当者|person
noun: ゲートウェイのポート|port
noun: 受け取りフォルダ|path
noun: スキーマ改訂|version
noun: 賞金|money
noun: 変更依頼|ticket
""",
    "ko": """
fact: 계약서에는 {n}가 {v}예요.
old: 처음 {n}: {v}
old: {n}를 {v}로 시험해 볼래요?
old: 계획을 써 줘, {n}는 {v}, 나머지는 알아서.
new: 최종 {n}: {v}
new: {v}를 {n}로 쓸 수 있을까요?
new: {n}는 {v}여야 합니다.
new: 고객이 {n}로 {v}를 고집해요.
new: {n} 얘기예요. {v}.
new: {n} (개정): {v}
new: 제 실수예요, {n} {v}
new: {n}로는 {v}만 돼요.
noun: 디스크 할당|size
noun: 로그인 오류|error
noun: 빌드 실패 원인|error
noun: 티켓 담당자|person
noun: 게이트웨이 포트|port
noun: 수신 폴더|path
noun: 스키마 개정판|version
noun: 상금|money
noun: 변경 요청|ticket
""",
    "ru": """
fact: По договору {n} — {v}.
old: Начальный {n}: {v}
old: Можешь попробовать {v} ({n})?
old: Набросай план, {n} — {v}, остальное на тебе.
new: Итоговый {n}: {v}
new: Можешь взять {v} как {n}?
new: {n} должен быть {v}.
new: Клиент настаивает на {v} ({n}).
new: Про {n}. {v}.
new: {n} (исправлено): {v}
new: Моя ошибка, {n} {v}
new: Только {v} годится как {n}.
noun: дисковая квота|size
noun: ошибка входа|error
noun: сбой сборки|error
noun: владелец тикета|person
noun: порт шлюза|port
noun: входящий каталог|path
noun: ревизия схемы|version
noun: призовой фонд|money
noun: запрос на изменение|ticket
""",
}

_OWN: Final = ("fact: ", "old: ", "new: ", "noun: ")


def _pool(values: dict[str, str]) -> dict[str, str]:
    """These values, and the rest as in the first pool."""
    pool: dict[str, str] = {}
    for language, text in values.items():
        rest = [line for line in DEVELOPMENT[language].strip().split("\n") if not line.startswith(_OWN)]
        pool[language] = "\n".join([*rest, text.strip()])
    return pool


MORE: Final = _pool(_VALUES)
MIXED: Final = _pool(_MIXED)
ODD: Final = _pool(_ODD)
