"""The second held-back pool: written by other hands, who saw neither the digest nor its tests, in their own words.

Same kinds, slots and languages as in ``digest_phrases``; no line and no noun is shared with the other two pools.
It is frozen; nothing here may be looked at, or scored line by line, while the digest is tuned.
"""

from __future__ import annotations

from typing import Final

HELD_BACK_B: Final = {
    "en": """
rule: please don't ever publish to *npm* from {p}, I do the publishing myself
rule: Hard limit: no *paid API calls* from {p}. We got billed for that once already.
rule: My daughter has a *nut allergy*, so keep that in mind for every recipe you suggest.
rule: You're welcome to read {p}, but *writing to production tables* is a no.
rule: Our *DNS records* stay as they are unless I say so in writing.
rule: If a step would *drop a column* in {p}, stop and ask.
rule: no new *dependencies* in {p} without a quick ping to me pls
rule: I'd be grateful if you never *booked anything non-refundable* on my behalf.
rule: Always take a *snapshot* of {p} before you touch it.
rule: House rule: nothing gets *ordered above 150 dollars* unless my wife has seen it.
rule: Quotes from *interview partners* have to stay word for word.
rule: Stay out of *{p}/vendor*, that code isn't ours.
rule: We're under embargo, so *the merger* doesn't get mentioned in any draft.
rule: Tests in {p} must not *hit the network*. CI has no outbound access.
fact: In case it helps, the {n} is {v} on our side.
fact: fyi the {n} came out as {v}
fact: I checked the {n} this morning and saw {v}.
fact: The handover doc gives {v} for the {n}.
fact: Just so you have it, {n} {v}
fact: They confirmed {v} as the {n} over the phone.
fact: It took me a while to dig up the {n}, but it's {v}.
fact: If anyone asks about the {n}, the answer is {v}.
fact: Turns out the {n} has been {v} all along.
fact: Found it! {v} is listed as {n} on page two.
fact: Going by the email from Tuesday, the {n} would be {v}.
decision: ok let's do {a}. {b} looked nice but the pricing is silly
decision: We talked it over and {a} is the one; {b} is more than we need.
decision: I ended up choosing {a} over {b} because the setup took ten minutes.
decision: Final answer from the architects: {a}, not {b}.
decision: Between {a} and {b} I'd say {a}, given that Sam already knows it.
decision: {b} failed the security review, which leaves us with {a}.
decision: Going with {a} here. The {b} client hasn't seen an update in two years.
decision: Management signed off on {a} today, so please stop looking into {b}.
decision: My pick is {a} - {b} would mean rewriting half the scripts.
task: when you have a minute, *rename the confusing env vars* in {p}
task: We haven't *cancelled the old phone contract* yet.
task: Could you put *book the dentist* on the list for later?
task: The *slow query* on {p} is still unsolved, please come back to it.
task: I owe the board a *one-page summary*, so that's next after this.
task: Later on, *bump the Node image* for {p} too.
task: Please make sure we *get quotes from two movers* before the end of the month.
task: Left to do after that: *wire up the healthcheck* for {p}
task: We should also *write tests for the date parser* at some point this week.
task: Nothing has been done about the *broken thumbnails*, that one is on you when you get there.
preference: Keep answers *under ten lines* if you can, I read on my phone.
preference: I'm a *dark roast* person, so pick accordingly.
preference: Could you use *type hints* everywhere? I find it easier to follow.
preference: I'd like *metric units*, thanks.
preference: not a fan of *semicolons* in prose tbh
preference: For trains I always go for the *quiet carriage*.
preference: Show me the *diff first* and the explanation afterwards.
preference: It helps me when variable names are *spelled out*.
preference: I'm happier with *early departures* than with late ones.
old: Let's begin with {v} for the {n}, we can see how it goes.
old: Put {v} in as {n} please.
old: My plan has a {n} of {v} in it.
old: hi! new job for you, the {n} is {v}, rest is in the readme
old: Can you draft the whole thing assuming {v} as the {n}?
old: I'd go with {v} as the {n} and see what they say.
old: The {n} we have on file is {v}, so work from that.
old: Need a quick setup for this, {n} should be {v}.
new: Hang on, the {n} should have been {v}, my bad.
new: On second thought I'd rather have {v} as the {n}.
new: They just wrote to me that the {n} is now {v}.
new: Can you switch the {n} over to {v}? {o} didn't work out.
new: Quick update on the {n}: {v} from here on.
new: so apparently {o} was outdated, {n} is meant to be {v}
new: Please go through it again with {v} in place of {o} as the {n}.
new: Small change, sorry, we need {v} for the {n}.
new: The {n} is {v} for Thursday's demo.
new: Use {v} as the {n}.
new: {n} {v} please
new: In the copy that goes to the client the {n} is {v}.
noun: proxy port|port
noun: batch size|number
noun: guest count|number
noun: scan folder|path
noun: log location|path
noun: firmware version|version
noun: image tag|version
noun: warranty case|ticket
noun: photo size cap|size
noun: mail server|host
noun: sofa budget|money
noun: code reviewer|person
noun: crash message|error
wrap: Nice work on that one. {x} I'm off to pick up the kids, back in an hour.
wrap: Hey, hope I'm not interrupting. {x}
wrap: {x} That's all from me for now.
wrap: Read through what you sent, mostly happy with it. {x} No need to hurry.
wrap: Couple of notes:\\n- the intro is good\\n- {x}\\n- I'll read the ending tonight
wrap: Before it slips my mind. {x} The rest can stay the way it is.
wrap: My manager is standing next to me and says hello, by the way. {x}
user: yep go ahead
user: Why did that take so long?
user: Can I see the last ten lines?
user: Sorry, doorbell. Where were we?
user: I don't quite get this bit, can you put it in simpler words?
user: lol ok
user: That's definitly more than I thought there would be. Go on.
user: Is that the same thing as what you showed me earlier?
user: I get {d} hits for {q} here, is that a lot?
user: Opened {f} for the first time in ages, bit of a maze.
user: {q} kept my laptop fan going for {d} seconds. Next?
say: I'm going through the output section by section.
say: That worked, and there were no warnings.
say: Sure, one moment.
say: Next I want to find out where this function is used.
say: The file is laid out the way the others are.
say: Nothing in there that affects us.
say: Okay, moving on to the following part.
say: {q} is done: {d} rows, all of them valid.
say: Near line {d} of {f} there is only formatting code.
say: {q} finished within {d} ms, which is normal.
""",
    "de": """
rule: In {p} wird ohne *Vier-Augen-Prinzip* nichts gemerged.
rule: Bitte fass die *Cronjobs* auf {p} nicht an, die sind empfindlich.
rule: An den *Betriebsrat* geht nichts raus, was ich nicht gelesen habe.
rule: Vor jedem Eingriff in {p} ein *Backup ziehen*, immer.
rule: *Gehaltsdaten* haben im Chat nix verloren.
rule: Wir sind *Vegetarier*, also bitte keine Rezepte mit Fleisch oder Fisch.
rule: Du darfst in {p} alles lesen, aber *Schreibzugriffe* sind verboten.
rule: Keine *Bestellungen auf Rechnung*, das hat uns schon mal Ärger gebracht.
fact: Zur Info, {n} ist {v}.
fact: Hab nachgeschaut, {n} steht auf {v}.
fact: Der Kollege aus der IT sagt, {n} sei {v}.
fact: Falls du es brauchst, {v} ist {n}.
fact: Im Protokoll von Montag finde ich {v}, gemeint ist {n}.
fact: Ich hab grad am Telefon erfahren, dass {n} {v} ist.
decision: Also gut, wir machen das mit {a}, {b} hat beim Test zu oft gehakt.
decision: Nach langem Hin und Her nehmen wir {a} und nicht {b}.
decision: Der Chef hat {a} abgesegnet, damit ist {b} vom Tisch.
decision: Ich hab mich auf {a} festgelegt, bei {b} stört mich die Lizenz.
decision: {a} macht das Rennen, weil {b} keine Schnittstelle zur Buchhaltung hat.
task: Später noch die *Logrotation* auf {p} einrichten, bitte.
task: Was noch aussteht: *Reisekosten abrechnen*.
task: Irgendwer muss demnächst den *Heizungsmonteur anrufen*.
task: Setz bitte *Readme überarbeiten* auf die Liste.
task: Um den *Speicherfehler in {p}* kümmern wir uns danach.
task: Ich muss bis Freitag die *Einladungen verschicken*, hilf mir dann bitte dabei.
preference: Schreib mir bitte *ganze Sätze*, Stichwortlisten lese ich ungern.
preference: Ich arbeite lieber mit *Leerzeichen als mit Tabs*.
preference: Bei Hotels ist mir *ein ruhiges Zimmer zum Hof* wichtig.
preference: Du kannst mich ruhig *duzen*.
preference: *Beträge auf zwei Nachkommastellen* fände ich angenehm.
preference: Zuerst das *Fazit*, dann die Einzelheiten, so mag ich es.
old: Fürs Erste gilt: {n} ist {v}.
old: Neues Projekt, {n} ist {v}, bitte richte alles ein.
old: Trag bitte {v} ein, das ist {n}.
old: Geh mal davon aus, dass {n} {v} ist, und schreib einen Entwurf.
new: Ups, Tippfehler von mir, {n} muss {v} sein.
new: Doch nicht {o}, {n} soll {v} werden.
new: Es hat sich was getan, {n} lautet inzwischen {v}.
new: Ich hab's mir anders überlegt, {n} bitte auf {v} setzen.
new: Kannst du {n} von {o} auf {v} umstellen?
new: Laut Rundmail von eben ist {n} ab sofort {v}.
new: Für die Vorführung ist {n} {v}.
new: In dem Exemplar für die Abgabe ist {n} {v}.
new: {n} ist {v}, so möchte ich es im Angebot sehen.
noun: die Portnummer|port
noun: das Ablageverzeichnis|path
noun: die Gästezahl|number
noun: das Wortlimit|number
noun: die Firmwareversion|version
noun: die Vorgangsnummer|ticket
noun: das Küchenbudget|money
noun: die Serveradresse|host
noun: die Ansprechperson|person
noun: die maximale Bildgröße|size
wrap: Moin, kurz von unterwegs. {x} Den Rest sehe ich mir heute Abend an.
wrap: Klasse, genau so hatte ich mir das vorgestellt. {x}
wrap: {x} Mehr fällt mir gerade nicht ein.
wrap: Zwei Punkte noch:\\n- die Überschrift gefällt mir\\n- {x}
user: Jo, mach einfach.
user: Wieso hat das jetzt so lange gedauert?
user: Zeig mal die letzten zehn Zeilen.
user: Bin kurz weg, die Waschmaschine piept.
user: Bei {q} sehe ich {d} Treffer, ist das viel?
user: Wer hat eigentlich {f} geschrieben? Ganz schön verschachtelt.
user: Während {q} lief, habe ich {d} Mails gelöscht. Weiter bitte.
say: Ich gehe die Ausgabe jetzt Abschnitt für Abschnitt durch.
say: Das hat geklappt, Warnungen gab es keine.
say: Alles klar.
say: Als Nächstes sehe ich nach, wo die Funktion überall verwendet wird.
say: {q} ist durch, {d} Zeilen ohne Befund.
say: Rund um Zeile {d} in {f} wird nur formatiert.
""",
    "fr": """
rule: Attention, on ne *livre rien en prod* depuis {p} après 17 h.
rule: Merci de ne jamais *réserver sans annulation gratuite*.
rule: Les *clés d'API* ne doivent apparaître nulle part, surtout pas dans les logs de {p}.
rule: Tu peux lire {p} mais pas *modifier les droits d'accès*.
rule: Mon fils est *allergique aux crustacés*, tiens-en compte dans tous les menus.
rule: Il faut toujours *prévenir le syndic* avant de commander des travaux.
rule: Aucun *envoi groupé* sans que je l'aie relu, s'il te plaît.
rule: Surtout, ne *désactive pas les tests* de {p} pour que ça passe.
fact: Pour info, {n} c'est {v}.
fact: J'ai retrouvé ça dans un vieux mail : {n}, {v}.
fact: D'après le prestataire, {n} est {v}.
fact: Si jamais on te demande, {n} est bien {v}.
fact: Sur la fiche il y a marqué {v} pour {n}.
fact: On m'a donné {v} ce matin au téléphone pour {n}.
decision: Bon, on part avec {a}, {b} plantait trop souvent.
decision: La direction a tranché pour {a}, donc {b} c'est fini.
decision: Entre {a} et {b}, j'ai retenu {a}, l'équipe connaît déjà.
decision: Tout compte fait je prends {a}, {b} fait doublon avec l'existant.
decision: On valide {a} ; {b} coûtait le double.
task: Il faudra penser à *rappeler le plombier*.
task: Reste le *bug d'affichage* sur {p}, on verra ça après.
task: Ajoute *relancer le fournisseur* à la liste, stp.
task: On n'a toujours pas *documenté les webhooks* de {p}.
task: Avant vendredi je dois *rendre la note de frais*, garde-le en tête.
task: Ensuite tu pourras *convertir les scripts de {p}* aussi.
preference: Sois *concis*, je lis ça dans le métro.
preference: Je suis plutôt *train que voiture*, tant que c'est possible.
preference: Tu peux me *tutoyer*, pas de souci.
preference: J'apprécie quand les *noms de variables sont en anglais*.
preference: Mets toujours *le total en haut* du tableau, c'est plus pratique pour moi.
preference: Pour les restos, plutôt *en terrasse*.
old: Pour commencer, mettons {v} pour {n}.
old: Bonjour ! Il me faudrait un script tout simple, {n} c'est {v}.
old: Fais-moi un brouillon en supposant que {n} est {v}.
old: On a {v} pour {n} dans le cahier des charges, base-toi là-dessus.
new: Ah mince, je me suis trompé, {n} c'est {v}.
new: En fait {n} doit être {v}, pas {o}.
new: Ma sœur me souffle à l'instant qu'il faut {v} pour {n}.
new: Tu peux basculer {n} sur {v} ? {o} ne convient pas.
new: Du nouveau côté mairie, {n} est désormais {v}.
new: Finalement, j'aimerais qu'on mette {v} pour {n}.
new: Ce soir {n} est {v}.
new: Mets {v} pour {n}.
new: Sur l'affiche, écris que {n} est {v}.
noun: le port du proxy|port
noun: le dossier de sauvegarde|path
noun: la taille des lots|number
noun: le nombre d'invités|number
noun: la version du micrologiciel|version
noun: le numéro de dossier|ticket
noun: l'enveloppe travaux|money
noun: le serveur de mail|host
noun: la personne à contacter|person
noun: le poids maximal des photos|size
wrap: Coucou, je passe en coup de vent. {x}
wrap: Très bien, ça avance. {x} Je regarde le reste ce soir.
wrap: {x} Voilà, c'est tout pour moi.
wrap: Ça rame chez moi aujourd'hui, désolé pour le délai. {x}
user: Vas-y.
user: Tiens, je ne m'attendais pas à ça. C'est quoi au juste ?
user: Montre-moi les premières lignes.
user: Je vais me chercher un café.
user: {q} affiche {d} résultats chez moi, ça te paraît normal ?
user: J'ai ouvert {f}, c'est un peu touffu quand même.
say: Je vérifie d'abord qui appelle cette fonction.
say: L'exécution s'est terminée sans avertissement.
say: Très bien, je poursuis.
say: La structure du fichier est celle que j'attendais.
say: {q} est passé en {d} ms, rien à signaler.
say: Autour de la ligne {d} de {f}, il n'y a que de la mise en forme.
""",
    "es": """
rule: Ojo, en {p} no se *despliega después de las seis*.
rule: Mi madre es *celíaca*, así que nada con gluten, por favor.
rule: Por favor no *subas contraseñas* a {p} bajo ningún concepto.
rule: No pagues nada con la *tarjeta de empresa* sin consultarme.
rule: Lo de *los despidos* no puede aparecer en ningún documento, es confidencial.
rule: En {p} puedes mirar lo que quieras, pero los *índices* déjalos como están.
rule: Che, no toqués el *balanceador* de {p}, que se cae todo.
rule: Las *citas textuales* hay que respetarlas siempre, sin cambiar ni una coma.
fact: Te paso el dato, {v} es {n}.
fact: Según el proveedor, {n} es {v}.
fact: Lo busqué en el correo y {n} figura como {v}.
fact: Por si te sirve, tenemos {v} como {n}.
fact: Me dijeron por teléfono que {n} es {v}.
fact: En la ficha pone {v} donde dice {n}.
decision: Venga, tiramos con {a}, que {b} nos dio problemas.
decision: Lo hablé con el equipo y vamos con {a}, no con {b}.
decision: La jefa aprobó {a}, así que descarta {b}.
decision: Elegí {a} porque {b} no tiene soporte en español.
decision: Al final gana {a}; {b} nos obligaba a reescribir todo.
task: Luego tenemos que *llamar al seguro*.
task: Apunta *comprar los billetes de tren* para más tarde, porfa.
task: El *fallo de codificación* en {p} sigue sin arreglar.
task: Hay que *pintar el pasillo*, pero eso ya cuando acabemos.
task: Antes del viernes tengo que *entregar la justificación de gastos*, ayúdame con eso después.
task: Cuando puedas, *ordena las dependencias* de {p}.
preference: Trátame *de usted*, si es tan amable.
preference: Me resulta más cómodo ver *el resumen al principio*.
preference: Soy más de *hoteles pequeños* que de cadenas.
preference: Los precios ponlos *con IVA incluido*, si no te importa.
preference: Los nombres de variables me gustan *en español*.
preference: Para viajar, mejor *por la tarde*.
old: Buenas, necesito ayuda con una cosa, {n} es {v} y lo demás te lo cuento sobre la marcha.
old: Pon {v} como {n}, por favor.
old: Prepárame un borrador suponiendo que {n} es {v}.
old: Por ahora contamos con {v} como {n}.
new: Perdona, me equivoqué, {n} es {v}.
new: Mejor pon {v} como {n}, lo he pensado bien.
new: Me acaban de avisar de que {n} pasa a ser {v}.
new: ¿Puedes cambiar {n} y poner {v}? Con {o} no nos apañamos.
new: Al final {n} queda en {v}, no en {o}.
new: Han publicado otra circular y ahí {n} es ya {v}.
new: El sábado {n} es {v}.
new: {n}, {v}, por favor.
new: Quiero que en el cartel se lea que {n} es {v}.
noun: el puerto del proxy|port
noun: la carpeta de copias|path
noun: el número de invitados|number
noun: el tamaño de lote|number
noun: la versión del firmware|version
noun: el número de expediente|ticket
noun: el tope para la reforma|money
noun: el servidor de correo|host
noun: la persona de contacto|person
noun: el peso máximo de las fotos|size
wrap: Hola, una cosita rápida. {x}
wrap: Va quedando muy bien. {x} Lo demás lo miro esta noche.
wrap: {x} Y eso es todo por mi parte.
wrap: Uf, menudo día llevo. {x} En fin, tú a lo tuyo.
user: Dale.
user: Ajá, ¿y los demás?
user: Enséñame las últimas líneas.
user: Voy a por un café, ahora vuelvo.
user: En {q} me salen {d} resultados, ¿es mucho?
user: He abierto {f} y está un poco enrevesado.
say: Ahora compruebo desde dónde se llama a esta función.
say: Terminó sin avisos.
say: De acuerdo, continúo.
say: El fichero tiene la estructura que esperaba.
say: {q} acabó en {d} ms, sin novedad.
say: Lo de {f} a la altura de la línea {d} es solo formato.
""",
    "zh": """
rule: {p}上的*定时任务*别乱动，出过事的。
rule: 我孩子对*花生过敏*，推荐菜谱的时候一定注意。
rule: {p}周四封版，之后不许*合并代码*。
rule: 改{p}之前必须先*打快照*。
rule: 不可以替我*买不能退的票*。
rule: *身份证号*任何时候都不能写进日志。
rule: 不要在*客户群*里直接回复，先给我看。
rule: 麻烦记住，*报价底线*一个字都不能出现在给对方的文件里。
fact: 顺便说下，{n}是{v}来着。
fact: 我查了邮件，{n}写的{v}。
fact: 供应商那边给的{n}是{v}。
fact: 要是有人问{n}，就说{v}。
fact: 昨天电话里确认过，{n}是{v}没错。
fact: 表格最后一栏{n}填的是{v}。
decision: 行，那就上{a}吧，{b}老是崩。
decision: 跟组里聊完，大家选了{a}，没选{b}。
decision: 领导批了{a}，{b}就不用再看了。
decision: {a}和{b}都试过，我定{a}，上手快。
decision: {b}过不了安全审查，所以用{a}。
task: 回头记得*给物业打电话*。
task: {p}的*乱码问题*还没解决，后面再看。
task: 帮我记一笔，周五前要*交报销单*。
task: 这个弄完再把{p}的*接口文档补上*。
task: *搬家公司的报价*还没要，之后得办。
task: 有空的时候*精简一下{p}的依赖*。
preference: 回答尽量*控制在十行以内*，我用手机看。
preference: 代码注释我习惯用*英文*。
preference: 住酒店我一般挑*无烟房*。
preference: 金额都*保留两位小数*吧，看着舒服。
preference: *先说结论*再讲过程，我喜欢这样。
preference: 出门我更愿意*坐高铁*。
old: 帮我弄个小工具，{n}是{v}，别的随意。
old: {n}暂时填{v}吧。
old: 你看{n}定{v}行不行，行就照做。
old: 登记的{n}是{v}，就按这个来。
new: 不好意思我写错了，{n}应该是{v}。
new: 老板刚发话，{n}要{v}。
new: 想了想，{n}还是{v}比较合适。
new: {n}从{o}调到{v}，麻烦你了。
new: {n}刚更新成{v}了。
new: 之前的{o}作废，{n}以{v}为准。
new: 演示的时候{n}是{v}。
new: {n}用{v}。
new: 我说的{n}就是{v}。
noun: 代理端口|port
noun: 扫描件文件夹|path
noun: 来宾人数|number
noun: 每批条数|number
noun: 固件版本|version
noun: 报修单号|ticket
noun: 装修预算|money
noun: 邮件服务器|host
noun: 对接人|person
noun: 图片大小上限|size
wrap: 辛苦了。{x}其他的我晚上再看。
wrap: 打断一下哈。{x}
wrap: {x}暂时就这些。
wrap: 地铁上信号不好，回得慢。{x}
user: 好的，接着来。
user: 这样啊，有意思。
user: 给我看看最后几行。
user: 我去倒杯水。
user: 我这边{q}搜出来{d}个结果，算多吗？
user: {f}我打开看了，绕得有点晕。
say: 接下来查一下哪里调用了这个函数。
say: 跑完了，没有警告。
say: 好，我继续。
say: 文件结构和预想的一样。
say: {q}用了{d}毫秒，没有异常。
say: {f}第{d}行前后只是格式处理。
""",
    "ja": """
rule: {p}の*環境変数*は勝手に書き換えないでください。
rule: 娘が*そばアレルギー*なので、献立には必ず注意してください。
rule: 夜八時以降の{p}への*リリース*は禁止とします。
rule: メールの宛名には必ず*敬称*を付けること。
rule: *キャンセル不可のプラン*は絶対に予約しないで。
rule: バグ報告に*お客様の実名*を書くのは厳禁です。
rule: {p}は閲覧だけOK、*権限の変更*はしないで。
rule: うちでは*売上目標*の数字を社外の資料に出したらあかんことになってます。
fact: 参考までに、{n}は{v}だそうです。
fact: メールを探したら{n}は{v}と書いてありました。
fact: 先方から聞いた{n}は{v}です。
fact: さっき電話で確認しました、{n}は{v}で合っています。
fact: 台帳を見る限り{n}には{v}が入っています。
fact: 聞かれたら{n}は{v}と答えてください。
decision: じゃあ{a}にしましょう、{b}はよく落ちるので。
decision: チームで話して、{b}ではなく{a}に決まりました。
decision: 部長の承認が出たのは{a}です。{b}の調査はもう結構です。
decision: {a}と{b}を試して、{a}を採用します。慣れている人が多いので。
decision: {b}はライセンスが合わないので、{a}を使います。
task: あとで*粗大ごみの予約*をしないといけません。
task: {p}の*文字化け*が未対応なので、後で見てください。
task: 金曜までに*議事録の清書*を手伝ってほしいです。
task: これが終わったら{p}の*結合テスト*も書いて。
task: 取引先への*お礼のメール*をまだ出していません。
task: 手が空いたら{p}の*不要なライブラリの削除*もお願いします。
preference: *図を添えて*もらえると理解しやすいです。
preference: *関数は短め*に分ける書き方が好きです。
preference: 宿は*和室*を選びたいです。
preference: 金額は*税込み*で見せてもらえると嬉しい。
preference: メールは*やわらかい文面*にしてほしいです。
preference: 移動は飛行機より*新幹線*派です。
old: {n}は{v}で仮置きして、全体の流れを組んでみて。
old: まずは{n}を{v}で進めてください。
old: ちょっと相談です。{n}を{v}で考えているのですが、案を出してもらえますか。
old: 登録してある{n}は{v}なので、それでやって。
new: すみません間違えました、{n}は{v}でした。
new: 昨日の会議の結果、{n}が{v}になりました。
new: やっぱり{n}は{v}でお願いします。
new: {n}ですが、{o}から{v}に切り替えてもらえますか。
new: {n}の最新は{v}です。
new: {o}は古い情報でした。正しい{n}は{v}です。
new: {n}、こちらの画面では{v}と出ています。
new: {n}、{v}でお願いします。
new: 明日の打ち合わせでは{n}を{v}として話します。
noun: プロキシのポート|port
noun: バックアップ先|path
noun: 参加人数|number
noun: バッチサイズ|number
noun: ファームウェアのバージョン|version
noun: 問い合わせ番号|ticket
noun: リフォーム予算|money
noun: メールサーバー|host
noun: 窓口の人|person
noun: 写真の容量上限|size
wrap: お疲れさまです。{x}残りは夜に見ます。
wrap: ちょっと失礼します。{x}
wrap: {x}以上です。
wrap: 助かります、読みやすくなりました。{x}急ぎではないです。
user: はい、どうぞ。
user: なるほど、そうなっているんですね。
user: 最後の数行を見せて。
user: ちょっとお茶を入れてきます。
user: {q}で{d}件ヒットしたけど、多いほう？
user: {f}を開いてみたけど、けっこう込み入っているね。
say: この関数の呼び出し元を調べます。
say: 警告なしで終わりました。
say: では続けます。
say: ファイルの構成は想定どおりです。
say: {q}は{d}ミリ秒で完了、特に問題なし。
say: {f}の{d}行目付近は書式の処理だけです。
""",
    "ko": """
rule: {p} *크론 작업*은 손대지 말아 주세요, 예전에 사고 났어요.
rule: 명절 연휴에는 {p}에 *배포*하지 않는 게 원칙입니다.
rule: *주민번호*가 로그에 찍히면 큰일 나요, 절대 남기지 마세요.
rule: *아이 사진*은 어디에도 올리지 말아 주세요.
rule: 제 카드로 *5만 원 넘는 결제*는 꼭 저한테 먼저 물어보세요.
rule: {p} 테스트 코드에 *실제 계정* 쓰지 마.
rule: *구조조정* 얘기는 문서 어디에도 쓰면 안 됩니다.
rule: 외주 업체에는 {p} *소스*를 보여 주면 안 돼요.
fact: 참고로 {n}는 {v}래요.
fact: 메일 찾아보니까 {n}가 {v}로 적혀 있네요.
fact: 업체에서 알려 준 {n}는 {v}입니다.
fact: 누가 {n} 물어보면 {v}라고 하세요.
fact: 어제 통화로 확인했는데 {n}는 {v} 맞대요.
fact: 장부에는 {n} 칸에 {v} 들어가 있어요.
decision: 그럼 {a} 씁시다, {b}는 자꾸 죽어요.
decision: 팀에서 얘기해 봤는데 {b} 말고 {a} 하기로 했어요.
decision: 부장님이 {a} 승인하셨으니 {b}는 그만 알아봐도 됩니다.
decision: {a}, {b} 둘 다 써 봤고 저는 {a}로 정했습니다.
decision: {b}가 보안 심사에서 떨어져서 {a} 도입합니다.
task: 나중에 *관리비 자동이체 신청*해야 해요.
task: {p} *메모리 누수*가 그대로예요, 이따 봐 주세요.
task: 금요일까지 *세금계산서 발행*해야 하니까 챙겨 주세요.
task: 이거 끝나면 {p} *모니터링 알림*도 걸어 줘.
task: *면접 일정 조율*이 아직이에요.
task: 시간 나면 {p} *안 쓰는 패키지 제거*도 부탁드려요.
preference: *표로 정리*된 쪽이 눈에 잘 들어와요.
preference: 커밋 메시지는 *한글로* 쓰는 편이에요.
preference: 숙소는 *조식 포함*이면 좋겠어요.
preference: 금액은 *천 원 단위*로 보여 주세요.
preference: *결론부터* 말해 주는 게 편해요.
preference: 저는 버스보다 *기차*가 낫습니다.
old: 안녕하세요, 스크립트 하나 부탁드려요. {n}는 {v}예요.
old: 우선 {n} {v} 넣고 시작하죠.
old: {n} {v} 정도면 될 것 같은데 그렇게 짜 볼래요?
old: 등록된 {n}가 {v}니까 그걸로 해 줘.
new: 아 죄송해요, 제가 잘못 적었네요. {n}는 {v}예요.
new: 팀장님 지시로 {n}가 {v}로 바뀌었습니다.
new: 생각해 보니 {n}는 {v}가 낫겠어요.
new: {n} {o}에서 {v}로 옮겨 주실래요?
new: 방금 연락받았는데 앞으로 {n}는 {v}랍니다.
new: {o}는 예전 거고 {n}는 {v} 맞습니다.
new: 제가 받은 안내문에 {n}는 {v}입니다.
new: {n} {v} 부탁해요.
new: 저녁에 돌릴 때 {n} {v} 쓰면 돼요.
noun: 프록시 포트|port
noun: 백업 위치|path
noun: 참석자 수|number
noun: 배치 크기|number
noun: 이미지 태그|version
noun: 접수 번호|ticket
noun: 이사 경비|money
noun: 메일 서버|host
noun: 담당자|person
noun: 사진 용량 한도|size
wrap: 수고 많으세요. {x} 나머지는 저녁에 볼게요.
wrap: 잠깐만요. {x}
wrap: {x} 일단 이 정도예요 ㅎㅎ
wrap: 오 깔끔하네요. {x} 천천히 하셔도 돼요.
user: 네 진행해 주세요.
user: 아 그렇구나, 몰랐네요.
user: 마지막 몇 줄만 보여 줘.
user: 택배 와서 잠깐 나갔다 올게요.
user: {q} 검색하면 {d}개 나오는데 많은 편인가요?
user: {f} 열어 봤는데 꽤 복잡하네요.
say: 이 함수를 어디서 부르는지 찾아보겠습니다.
say: 경고 없이 끝났습니다.
say: 네, 이어서 하겠습니다.
say: 파일 구조는 예상한 대로입니다.
say: {q}는 {d}ms 걸렸고 특이 사항은 없습니다.
say: {f} {d}번째 줄 부근은 서식 처리뿐입니다.
""",
    "ru": """
rule: На {p} *кроны* не трогай, пожалуйста, в прошлый раз всё легло.
rule: У мужа *аллергия на мёд*, учитывай во всех рецептах.
rule: После восьми вечера в {p} *не деплоим*.
rule: *Паспортные данные* в чат не пишем ни при каких условиях.
rule: Смотреть в {p} можно, а вот *права доступа* не меняй.
rule: Прежде чем лезть в {p}, обязательно делай *дамп базы*.
rule: *Невозвратные билеты* за меня не покупай.
rule: Ничего не *отправляй заказчику*, пока я не посмотрю.
fact: Для справки: {n} у нас {v}.
fact: Нашла в почте, {n} там {v}.
fact: Подрядчик говорит, что {n} — {v}.
fact: Если кто спросит, {n} сейчас {v}.
fact: Мне по телефону подтвердили, {n} именно {v}.
fact: В таблице напротив «{n}» стоит {v}.
decision: Ладно, делаем на {a}, {b} слишком часто падает.
decision: Посовещались с командой и выбрали {a}, а не {b}.
decision: Начальник утвердил {a}, так что {b} можно больше не изучать.
decision: Попробовала и {a}, и {b}, беру {a}, с ним проще начать.
decision: {b} не прошёл проверку безопасников, поэтому {a}.
task: Потом надо *позвонить в управляющую компанию*.
task: В {p} так и не починили *утечку памяти*, вернись к ней позже.
task: До пятницы мне нужно *сдать авансовый отчёт*, помоги с этим потом.
task: Как закончишь, *опиши эндпоинты* {p}.
task: Запиши на потом: *заказать пропуска гостям*.
task: При случае *разбери зависимости* в {p}, там бардак.
preference: Пиши *без воды*, я читаю с телефона.
preference: В поезде мне удобнее *нижняя полка*.
preference: Люблю, когда комментарии в коде *на русском*.
preference: Цены показывай *с доставкой*, так нагляднее.
preference: Мне проще, когда *сначала вывод*, а подробности ниже.
preference: Из гостиниц обычно выбираю *поближе к вокзалу*.
old: Добрый день! Помогите, пожалуйста, с настройкой, {n} у меня {v}.
old: Поставь пока {v}, это {n}.
old: Давай прикинем смету и сроки, вводные такие: {n} — {v}.
old: В заявке {n} {v}, от этого и отталкивайся.
new: Ой, я тут ошиблась, правильно так: {n} — {v}.
new: Жена против прежнего варианта, так что {n} — {v}.
new: Подумал ещё раз, пусть {n} будет {v}.
new: Можешь поменять {o} на {v}? Это про «{n}».
new: Только что написали: {n} с этого дня {v}.
new: То, что было ({o}), уже неактуально, {n} — {v}.
new: К понедельнику {n} — {v}.
new: {n} {v}, пожалуйста.
new: Напиши в объявлении, что {n} — {v}.
noun: порт прокси|port
noun: папка для сканов|path
noun: число гостей|number
noun: размер пачки|number
noun: версия прошивки|version
noun: номер обращения|ticket
noun: бюджет на ремонт|money
noun: почтовый сервер|host
noun: контактное лицо|person
noun: предел для вложений|size
wrap: Привет, я на минутку. {x} Остальное посмотрю вечером.
wrap: Здорово получается. {x}
wrap: {x} Пока это всё.
wrap: Связь плохая, пишу урывками. {x} Работай спокойно.
user: Ага, давай.
user: Ого, не ожидала. Ну ладно.
user: Покажи последние строки.
user: Отойду за чаем.
user: У меня по {q} находится {d} результатов, это много?
user: Открыла {f}, запутано там, конечно.
say: Теперь проверю, откуда вызывается эта функция.
say: Завершилось без предупреждений.
say: Хорошо, продолжаю.
say: Структура файла такая, как я и ожидал.
say: {q} отработал за {d} мс, без замечаний.
say: В {f} рядом со строкой {d} только форматирование.
""",
}
